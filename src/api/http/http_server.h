// The HTTP/1.1 server: bytes to requests, answers to bytes, and nothing about what they mean. Hostile input is cut
// here: sizes, counts, deadlines, malformed messages. No Asio in this header.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/limits.h"
#include "base/result.h"
#include "base/time.h"

namespace postrider {

using Header = std::pair<std::string, std::string>;  // the same as in ports/transport.h

struct HttpIn {
  std::string method;
  std::string path;             // as it came, not decoded
  std::string query;            // behind the question mark, not decoded
  std::vector<Header> headers;  // names in lower case
  std::string body;
  std::string peer;  // the address of the other side

  /// The first of that name (lower case); null when there is none.
  [[nodiscard]] const std::string* header(std::string_view name) const;
};

struct HttpOut {
  int status = 200;
  std::string content_type = "application/json";  // empty: none is sent
  std::vector<Header> headers{};
  std::string body{};
};

/// {"error":{"code":"…","message":"…"}}
HttpOut http_error(int status, std::string_view code, std::string_view message);

/// Callable from any thread, once; further calls do nothing. When the last copy is dropped uncalled, 500 is answered.
using Respond = std::function<void(HttpOut)>;
/// Called on a loop's thread, where it must not block.
using Handler = std::function<void(HttpIn, Respond)>;

struct ServerOptions {
  std::string host = "127.0.0.1";  // an address; or "localhost"
  std::uint16_t port = 0;          // 0: any
  int threads = 1;
  std::size_t header_bytes_max = 16U << 10U;
  std::size_t headers_max = 100;
  std::size_t body_bytes_max = kRequestBodyBytesMax;
  int connections_max = 1024;
  Duration idle_max = std::chrono::seconds{60};    // between two requests
  Duration header_max = std::chrono::seconds{5};   // first byte (or connection) to the end of the header
  Duration body_max = std::chrono::seconds{15};    // end of the header to the end of the body
  Duration answer_max = std::chrono::seconds{30};  // for the peer to take the answer
  std::string tls_certificate_file;                // both or none
  std::string tls_key_file;
};

class HttpServer {
 public:
  static Result<std::unique_ptr<HttpServer>> start(ServerOptions options, Handler handler);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Closes the listener and idle connections; running requests complete with "Connection: close". Returns when all are
  /// answered or the grace has passed. The handler is not called afterwards. Not to be called from the handler.
  void stop(Duration grace);

 private:
  struct Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
