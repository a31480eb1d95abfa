// The server's connection, from bytes to handler and back: each request is answered once and in order, a refusal is the
// last word, what the handler sees does not depend on how the bytes were cut, and nothing hangs.
#include <boost/asio/co_spawn.hpp>

#include "api/http/http_session.h"
#include "api/query.h"
#include "base/json.h"
#include "base/text.h"
#include "fuzz/input.h"
#include "fuzz/socket_pair.h"

namespace postrider {
namespace {

using fuzz::Cut;

class Host final : public SessionHost {
 public:
  Host() {
    options_.header_bytes_max = 1024;
    options_.headers_max = 16;
    options_.body_bytes_max = 512;
  }
  [[nodiscard]] const ServerOptions& options() const override { return options_; }
  [[nodiscard]] boost::asio::ssl::context* tls() const override { return nullptr; }
  [[nodiscard]] bool is_stopping() const override { return false; }
  void handle(HttpIn request, SessionId) override {
    HttpOut out;
    out.content_type = "text/plain";
    out.body = "answer " + std::to_string(handled.size());
    out.headers = {{"x-path", request.path}};  // Whatever came in must not break what goes out.
    handled.push_back(std::move(request));
    session->answer(std::move(out));
  }
  std::vector<HttpIn> handled = {};
  HttpSession* session = nullptr;

 private:
  ServerOptions options_;
};

struct Talk {
  std::vector<HttpIn> handled = {};
  std::string answers = {};
};

Talk talk(std::string_view bytes, Cut how) {
  static net::asio::io_context io{1};
  fuzz::SocketPair sockets;
  Host host;
  bool ended = false;
  auto session = std::make_shared<HttpSession>(host, 1, sockets.theirs(io));
  host.session = session.get();
  net::asio::co_spawn(io.get_executor(), session->run(), [&](const std::exception_ptr& failed) {
    POSTRIDER_CHECK(failed == nullptr);
    ended = true;
  });
  Talk talk;
  const auto turn = [&] {
    io.restart();
    const std::size_t ran = io.poll();
    const std::string more = sockets.read();
    talk.answers += more;
    return ran > 0 || !more.empty();
  };
  for (std::string_view piece : fuzz::cut(bytes, how)) {
    while (!piece.empty() && !ended) {
      piece.remove_prefix(sockets.write(piece));
      turn();
    }
  }
  sockets.write_eof();
  while (turn()) {
  }
  POSTRIDER_CHECK(ended);
  talk.handled = std::move(host.handled);
  return talk;
}

// Answers one by one; the last may be a refusal.
void check_answers(std::string_view rest, const std::vector<HttpIn>& handled) {
  std::size_t answered = 0;
  net::HttpParser parser{net::HttpRole::Response, {.header_bytes_max = 4096, .body_bytes_max = 8192}};
  while (!rest.empty()) {
    const bool is_head = answered < handled.size() && handled[answered].method == "HEAD";
    parser.reset(is_head ? net::BodyExpected::No : net::BodyExpected::Yes);
    const net::Fed fed = parser.put(rest);
    POSTRIDER_CHECK(fed.state == net::Parsed::Complete && fed.consumed > 0);
    rest.remove_prefix(fed.consumed);
    const net::HttpMessage& answer = parser.message();
    if (answer.status == 100) continue;
    if (answered < handled.size()) {
      POSTRIDER_CHECK(answer.status == 200);
      POSTRIDER_CHECK(is_head || answer.body == "answer " + std::to_string(answered));
    } else {
      POSTRIDER_CHECK(answer.status >= 400 && answer.status < 500 && !parser.keep_alive() && rest.empty());
      POSTRIDER_CHECK(JsonDocument::parse(answer.body));
    }
    ++answered;
  }
  POSTRIDER_CHECK(answered == handled.size() || answered == handled.size() + 1);
}

void check_query(const std::string& text) {
  const auto read = Query::read(text, {"tenant", "state", "limit"});
  if (const auto* wrong = std::get_if<ApiError>(&read)) {
    POSTRIDER_CHECK(JsonDocument::parse(to_answer(*wrong).body));
    return;
  }
  for (const char* name : {"tenant", "state", "limit"}) {
    const std::string* value = std::get<Query>(read).find(name);
    POSTRIDER_CHECK(value == nullptr || (is_utf8(*value) && !has_control(*value)));
  }
}

void run(std::string_view bytes) {
  const Talk whole = talk(bytes, Cut::Whole);
  const Talk pieces = talk(bytes, Cut::Pieces);
  POSTRIDER_CHECK(whole.handled.size() == pieces.handled.size());
  for (std::size_t i = 0; i < whole.handled.size(); ++i) {
    const HttpIn& one = whole.handled[i];
    const HttpIn& other = pieces.handled[i];
    POSTRIDER_CHECK(one.method == other.method && one.path == other.path && one.query == other.query);
    POSTRIDER_CHECK(one.headers == other.headers && one.body == other.body);
    POSTRIDER_CHECK(one.path.starts_with('/') && one.path.find('?') == std::string::npos);
    check_query(one.query);
  }
  check_answers(whole.answers, whole.handled);
  check_answers(pieces.answers, pieces.handled);
}

}  // namespace
}  // namespace postrider

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
