// HTTP/1.1 messages out of bytes, for the server and for the client. Beast parses; what it lets pass and we do not
// (line folding, two lengths, a length beside chunks, trailers as headers) is refused here. No Beast in this header.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace postrider::net {

inline constexpr std::size_t kHeaderBytesMax = 16U << 10U;

struct HttpLimits {
  std::size_t header_bytes_max = kHeaderBytesMax;
  std::size_t headers_max = 100;
  std::size_t body_bytes_max = 0;
};

struct HttpMessage {
  std::string method;  // requests
  std::string target;
  int status = 0;                                            // responses
  int version = 11;                                          // or 10
  std::vector<std::pair<std::string, std::string>> headers;  // names in lower case
  std::string body;                                          // never longer than the limit
};

enum class Parsed : std::uint8_t { NeedMore, Complete, Malformed, HeaderTooLarge, BodyTooLarge };
struct Fed {
  Parsed state = Parsed::NeedMore;
  std::size_t consumed = 0;
};
enum class HttpRole : bool { Request, Response };
enum class BodyExpected : bool { No, Yes };  // No: the answer to a HEAD

/// One message at a time. The caller keeps what was not consumed and offers it again with more behind it.
class HttpParser {
 public:
  HttpParser(HttpRole role, HttpLimits limits);
  ~HttpParser();
  HttpParser(const HttpParser&) = delete;
  HttpParser& operator=(const HttpParser&) = delete;

  /// Forgets everything: the next byte begins a new message.
  void reset(BodyExpected body = BodyExpected::Yes);
  Fed put(std::string_view bytes);
  /// The peer closed: completes a body that lasts until then, otherwise Malformed.
  Parsed put_eof();

  [[nodiscard]] bool header_complete() const;
  [[nodiscard]] bool keep_alive() const;  // only after the header
  [[nodiscard]] HttpMessage& message();
  [[nodiscard]] const std::string& why() const;  // what is malformed, for people

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider::net
