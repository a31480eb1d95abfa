#include "net/http_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <cstring>
#include <optional>

#include "base/text.h"

namespace postrider::net {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;
using boost::beast::string_view;

struct Shared {
  HttpLimits limits;
  HttpMessage message;
  std::string why;
  Parsed refused = Parsed::Malformed;  // what an error of ours means
  std::size_t fields = 0;
  std::size_t chunk_extension_bytes = 0;
  int lengths = 0;
  int encodings = 0;
  bool header_complete = false;
};

std::string_view std_view(string_view text) { return {text.data(), text.size()}; }

template <bool is_request>
class BeastParser final : public http::basic_parser<is_request> {
 public:
  explicit BeastParser(Shared& shared) : shared_(shared) {
    this->eager(true);
    this->body_limit(boost::none);  // Ours is counted in take(), which keeps the part that fits.
    this->header_limit(static_cast<std::uint32_t>(shared.limits.header_bytes_max) + 1);
  }

 private:
  void on_request_impl(http::verb, string_view method, string_view target, int version, error_code&) override {
    shared_.message.method = std_view(method);
    shared_.message.target = std_view(target);
    shared_.message.version = version;
  }
  void on_response_impl(int code, string_view, int version, error_code&) override {
    shared_.message.status = code;
    shared_.message.version = version;
  }
  void on_field_impl(http::field field, string_view name, string_view value, error_code& ec) override {
    if (++shared_.fields > shared_.limits.headers_max) {
      return refuse(Parsed::HeaderTooLarge, "too many headers", http::error::header_limit, ec);
    }
    if (shared_.header_complete) return;  // A trailer must not look like a header to whoever decides by headers.
    if (field == http::field::content_length && (++shared_.lengths > 1 || value.find(',') != string_view::npos)) {
      return refuse(Parsed::Malformed, "two lengths", http::error::multiple_content_length, ec);
    }
    if (field == http::field::transfer_encoding) {
      if (++shared_.encodings > 1 || shared_.message.version < 11 || !equal_ignoring_case(std_view(value), "chunked")) {
        return refuse(Parsed::Malformed, "transfer encoding other than chunked", http::error::bad_transfer_encoding,
                      ec);
      }
    }
    constexpr std::size_t kHeadersUsually = 8;
    if (shared_.message.headers.empty()) shared_.message.headers.reserve(kHeadersUsually);
    shared_.message.headers.emplace_back(lower(std_view(name)), std_view(value));
  }
  void on_header_impl(error_code& ec) override {
    shared_.header_complete = true;
    if (!is_request) return;
    if (auto length = this->content_length(); length && *length > shared_.limits.body_bytes_max) {
      refuse(Parsed::BodyTooLarge, "body too large", http::error::body_limit, ec);
    }
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(string_view bytes, error_code& ec) override { return take(bytes, ec); }
  void on_chunk_header_impl(std::uint64_t size, string_view extension, error_code& ec) override {
    shared_.chunk_extension_bytes += extension.size();
    if (shared_.chunk_extension_bytes > shared_.limits.header_bytes_max) {
      return refuse(Parsed::Malformed, "too many chunk extensions", http::error::bad_chunk_extension, ec);
    }
    if (is_request && size > shared_.limits.body_bytes_max - shared_.message.body.size()) {
      refuse(Parsed::BodyTooLarge, "body too large", http::error::body_limit, ec);
    }
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view bytes, error_code& ec) override { return take(bytes, ec); }
  void on_finish_impl(error_code&) override {}

  std::size_t take(string_view bytes, error_code& ec) {
    std::string& body = shared_.message.body;
    const std::size_t room = shared_.limits.body_bytes_max - body.size();
    body.append(bytes.data(), std::min(room, bytes.size()));
    if (bytes.size() > room) refuse(Parsed::BodyTooLarge, "body too large", http::error::body_limit, ec);
    return bytes.size();
  }
  void refuse(Parsed as, const char* why, http::error error, error_code& ec) {
    shared_.refused = as;
    shared_.why = why;
    ec = error;
  }

  Shared& shared_;
};

}  // namespace

struct HttpParser::Impl {
  HttpRole role;
  Shared shared;
  std::size_t scanned = 0;     // of the bytes offered, while the header is not complete
  std::size_t line_begin = 0;  // of the line that is being scanned
  std::optional<BeastParser<true>> request;
  std::optional<BeastParser<false>> response;

  enum class Scan : std::uint8_t { NeedMore, Complete, Bad };
  Scan scan_header(std::string_view bytes);
  Parsed state_after(const error_code& ec, bool done);
};

HttpParser::HttpParser(HttpRole role, HttpLimits limits) : impl_(std::make_unique<Impl>()) {
  impl_->role = role;
  impl_->shared.limits = limits;
  reset();
}

HttpParser::~HttpParser() = default;

void HttpParser::reset(BodyExpected body) {
  const HttpLimits limits = impl_->shared.limits;
  impl_->shared = Shared{};
  impl_->shared.limits = limits;
  impl_->scanned = impl_->line_begin = 0;
  if (impl_->role == HttpRole::Request) {
    impl_->request.emplace(impl_->shared);
  } else {
    impl_->response.emplace(impl_->shared);
    if (body == BodyExpected::No) impl_->response->skip(true);
  }
}

// The header is handed to Beast only when it is there whole and every line of it ends in CR LF and begins with its
// name: Beast would join folded lines, and what two parsers read differently is what smuggles.
HttpParser::Impl::Scan HttpParser::Impl::scan_header(std::string_view bytes) {
  while (scanned < bytes.size()) {
    const void* found = std::memchr(bytes.data() + scanned, '\n', bytes.size() - scanned);
    if (found == nullptr) {
      scanned = bytes.size();
      return Scan::NeedMore;
    }
    const auto end = static_cast<std::size_t>(static_cast<const char*>(found) - bytes.data());
    if (end == line_begin || bytes[end - 1] != '\r') return Scan::Bad;
    if (end - 1 == line_begin) return Scan::Complete;
    const char first = bytes[line_begin];
    if (first == ' ' || first == '\t') return Scan::Bad;
    scanned = line_begin = end + 1;
  }
  return Scan::NeedMore;
}

Parsed HttpParser::Impl::state_after(const error_code& ec, bool done) {
  if (!ec) return done ? Parsed::Complete : Parsed::NeedMore;
  if (ec == http::error::need_more) return Parsed::NeedMore;
  if (!shared.why.empty()) return shared.refused;
  shared.why = ec.message();
  return ec == http::error::header_limit ? Parsed::HeaderTooLarge : Parsed::Malformed;
}

Fed HttpParser::put(std::string_view bytes) {
  std::size_t skipped = 0;
  if (!impl_->shared.header_complete) {
    if (impl_->role == HttpRole::Request) {  // RFC 9112, 2.2: empty lines before a request are ignored.
      while (impl_->line_begin == 0 && bytes.substr(skipped, 2) == "\r\n") skipped += 2;
      bytes.remove_prefix(skipped);
      if (skipped > 0) impl_->scanned = 0;
    }
    const Impl::Scan scan = impl_->scan_header(bytes);
    if (scan == Impl::Scan::Bad) {
      impl_->shared.why = "a header line does not end in CR LF, or is folded";
      return {Parsed::Malformed, skipped};
    }
    if (scan == Impl::Scan::NeedMore) {
      return {bytes.size() >= impl_->shared.limits.header_bytes_max ? Parsed::HeaderTooLarge : Parsed::NeedMore,
              skipped};
    }
  }
  // The end of an empty chunked body: Beast, which has seen "0\r\n", asserts that it is not shown four bytes next.
  if (impl_->shared.encodings > 0 && bytes.size() == 4 && bytes.starts_with("0\r\n"))
    return {Parsed::NeedMore, skipped};
  error_code ec;
  const boost::asio::const_buffer buffer{bytes.data(), bytes.size()};
  const bool is_request = impl_->role == HttpRole::Request;
  const std::size_t consumed = is_request ? impl_->request->put(buffer, ec) : impl_->response->put(buffer, ec);
  const bool done = is_request ? impl_->request->is_done() : impl_->response->is_done();
  Fed fed{impl_->state_after(ec, done), skipped + consumed};
  if (fed.state == Parsed::NeedMore && !impl_->shared.header_complete) {  // All lines were there, yet it is no header.
    impl_->shared.why = "no header";
    fed.state = Parsed::Malformed;
  }
  if (fed.state == Parsed::NeedMore && bytes.size() - consumed >= impl_->shared.limits.header_bytes_max) {
    impl_->shared.why = "a chunk header or trailer is too long";
    fed.state = Parsed::Malformed;
  }
  return fed;
}

Parsed HttpParser::put_eof() {
  impl_->shared.why = "closed before the message was complete";
  if (!impl_->shared.header_complete || impl_->role == HttpRole::Request) return Parsed::Malformed;
  error_code ec;
  impl_->response->put_eof(ec);
  return ec ? Parsed::Malformed : Parsed::Complete;
}

bool HttpParser::header_complete() const { return impl_->shared.header_complete; }
bool HttpParser::keep_alive() const {
  return impl_->role == HttpRole::Request ? impl_->request->keep_alive() : impl_->response->keep_alive();
}
HttpMessage& HttpParser::message() { return impl_->shared.message; }
const std::string& HttpParser::why() const { return impl_->shared.why; }

}  // namespace postrider::net
