// The server's parser: however the bytes are cut they come to the same; what is accepted has no second reading, and
// written down again it is read back equal.
#include <algorithm>

#include "base/check.h"
#include "fuzz/http_model.h"
#include "fuzz/input.h"
#include "net/http_parser.h"

namespace postrider::net {
namespace {

using fuzz::Cut;

// Small, so that a short input reaches every limit.
constexpr HttpLimits kLimits{.header_bytes_max = 512, .headers_max = 12, .body_bytes_max = 256};

struct Reading {
  Parsed end = Parsed::NeedMore;
  std::vector<HttpMessage> messages = {};
  std::vector<std::size_t> ends = {};  // where each message ended in the input
};

// As a connection does it: what was not consumed is offered again, and never more than the longest header is held.
Reading read_all(std::string_view bytes, Cut how) {
  Reading reading;
  HttpParser parser{HttpRole::Request, kLimits};
  std::size_t begin = 0;
  std::size_t end = 0;
  for (const std::string_view piece : fuzz::cut(bytes, how)) {
    const std::size_t piece_end = end + piece.size();
    while (end < piece_end) {
      end = std::min(piece_end, begin + kLimits.header_bytes_max);
      for (bool again = true; again && begin < end;) {
        const Fed fed = parser.put(bytes.substr(begin, end - begin));
        POSTRIDER_CHECK(fed.consumed <= end - begin);
        begin += fed.consumed;
        again = fed.state == Parsed::Complete;
        if (again) {
          reading.messages.push_back(parser.message());
          reading.ends.push_back(begin);
          parser.reset();
        } else if (fed.state != Parsed::NeedMore) {
          reading.end = fed.state;
          return reading;
        }
      }
      POSTRIDER_CHECK(begin + kLimits.header_bytes_max > end);  // Else nothing could ever be read again.
    }
  }
  return reading;
}

bool is_token(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > 0x20 && c < 0x7f && std::string_view{"()<>@,;:\\\"/[]?={}"}.find(c) == std::string_view::npos;
  });
}
bool is_framing(std::string_view name) { return name == "content-length" || name == "transfer-encoding"; }

void check_sound(const HttpMessage& m) {
  POSTRIDER_CHECK(is_token(m.method));
  POSTRIDER_CHECK(!m.target.empty() && m.target.find_first_of(" \t\r\n") == std::string::npos);
  POSTRIDER_CHECK(m.target.find('\0') == std::string::npos);
  POSTRIDER_CHECK(m.version == 10 || m.version == 11);
  POSTRIDER_CHECK(m.headers.size() <= kLimits.headers_max && m.body.size() <= kLimits.body_bytes_max);
  int framings = 0;
  for (const auto& [name, value] : m.headers) {
    POSTRIDER_CHECK(is_token(name) && name == lower(name));
    POSTRIDER_CHECK(value.find_first_of("\r\n") == std::string::npos && value.find('\0') == std::string::npos);
    framings += is_framing(name) ? 1 : 0;
  }
  POSTRIDER_CHECK(framings <= 1);
}

void check_agrees(const HttpMessage& m, const fuzz::PlainMessage& plain) {
  POSTRIDER_CHECK(plain.first_line == m.method + " " + m.target + (m.version == 11 ? " HTTP/1.1" : " HTTP/1.0"));
  POSTRIDER_CHECK(plain.headers == m.headers);
  POSTRIDER_CHECK(plain.body == m.body);
}

void check_written_again(const HttpMessage& m) {
  std::string text = m.method + " " + m.target + (m.version == 11 ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
  std::vector<std::pair<std::string, std::string>> kept;
  for (const auto& header : m.headers) {
    if (is_framing(header.first)) continue;
    kept.push_back(header);
    text += header.first + ": " + header.second + "\r\n";
  }
  text += "content-length: " + std::to_string(m.body.size()) + "\r\n\r\n" + m.body;
  HttpParser parser{HttpRole::Request, {.header_bytes_max = 4096, .headers_max = 20, .body_bytes_max = 256}};
  const Fed fed = parser.put(text);
  POSTRIDER_CHECK(fed.state == Parsed::Complete && fed.consumed == text.size());
  kept.emplace_back("content-length", std::to_string(m.body.size()));
  const HttpMessage& again = parser.message();
  POSTRIDER_CHECK(again.method == m.method && again.target == m.target && again.headers == kept);
  POSTRIDER_CHECK(again.body == m.body);
}

void run(std::string_view bytes) {
  const Reading whole = read_all(bytes, Cut::Whole);
  const Reading pieces = read_all(bytes, Cut::Pieces);
  const Reading single = read_all(bytes, Cut::Bytes);
  POSTRIDER_CHECK(whole.end == pieces.end && whole.ends == pieces.ends);
  POSTRIDER_CHECK(whole.end == single.end && whole.ends == single.ends);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < whole.messages.size(); ++i) {
    const HttpMessage& m = whole.messages[i];
    const HttpMessage& other = pieces.messages[i];
    POSTRIDER_CHECK(m.method == other.method && m.target == other.target && m.headers == other.headers);
    POSTRIDER_CHECK(m.body == other.body);
    check_sound(m);
    const auto plain = fuzz::PlainHttp{bytes.substr(begin)}.request();
    POSTRIDER_CHECK(plain && begin + plain->size == whole.ends[i]);
    check_agrees(m, *plain);
    check_written_again(m);
    begin = whole.ends[i];
  }
}

}  // namespace
}  // namespace postrider::net

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  postrider::net::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
