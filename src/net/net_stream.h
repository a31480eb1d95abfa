// A TCP stream that may be TLS, decided at run time: the coroutines above it are compiled once. Asio with its concrete
// executor and errors as values.
//
// A rule for every coroutine over it: `co_await` stands alone or initialises a variable, never inside a condition or a
// larger expression. g++ 12 compiles `if (co_await a()) co_await b();` and `x ? co_await a() : co_await b()` into code
// that resumes at a wrong place or destroys what was never made (seen here as SIGILL and a double free; clang is
// right).
#pragma once
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_stream_socket.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace boost::asio::ssl {
class context;
}

namespace postrider::net {

namespace asio = boost::asio;
using boost::system::error_code;
using Executor = asio::io_context::executor_type;
using TcpSocket = asio::basic_stream_socket<asio::ip::tcp, Executor>;
template <class T>
using Awaitable = asio::awaitable<T, Executor>;
using IoAwaitable = Awaitable<std::tuple<error_code, std::size_t>>;
inline constexpr auto kToken = asio::as_tuple(asio::use_awaitable_t<Executor>{});

enum class TlsSide : bool { Client, Server };

class NetStream {
 public:
  explicit NetStream(asio::io_context& io);
  explicit NetStream(TcpSocket socket);
  ~NetStream();
  NetStream(const NetStream&) = delete;
  NetStream& operator=(const NetStream&) = delete;

  TcpSocket& socket() { return socket_; }
  [[nodiscard]] bool is_tls() const { return tls_ != nullptr; }
  IoAwaitable read_some(asio::mutable_buffer buffer);
  IoAwaitable write_some(std::array<asio::const_buffer, 2> buffers);
  /// Takes the socket out of Asio's loop, for somebody who watches it himself; not under TLS. From then on only what
  /// does not wait may be called: read_now, write_now, is_quiet, send_last, close. The handle stays ours.
  int detach(error_code& error);
  /// At once, without waiting, and not under TLS: how much went or came. Nothing came and no error: the peer closed.
  std::size_t write_now(const std::array<asio::const_buffer, 2>& buffers, error_code& error);
  std::size_t read_now(asio::mutable_buffer buffer, error_code& error);
  /// Ends when something can be read (or the peer closed), or when the socket is cancelled.
  Awaitable<std::tuple<error_code>> wait_readable();
  /// Client: the certificate must be valid for `host`. The text is empty on success and says what failed otherwise.
  Awaitable<std::string> handshake(asio::ssl::context& context, TlsSide side, const std::string& host);
  /// Nothing to read and not closed by the peer: a kept connection in this state may be used again.
  bool is_quiet();
  /// Sends without waiting, as a courtesy before close(): it may be lost. Not under TLS.
  void send_last(std::string_view text);
  void close();

 private:
  struct Tls;
  int handle() { return detached_ >= 0 ? detached_ : socket_.native_handle(); }

  TcpSocket socket_;
  int detached_ = -1;
  std::unique_ptr<Tls> tls_;
};

/// A context for calls out: TLS 1.2 or later, the peer verified against `ca_file` (empty: the system's authorities).
/// Null with `why` filled when the file cannot be read.
std::unique_ptr<asio::ssl::context> make_client_tls(const std::string& ca_file, std::string& why);
std::unique_ptr<asio::ssl::context> make_server_tls(const std::string& certificate_file, const std::string& key_file,
                                                    std::string& why);

/// What was read and not consumed yet; grows up to its limit, which is the longest header or line that can be read.
class ReadBuffer {
 public:
  explicit ReadBuffer(std::size_t bytes_max) : bytes_max_(bytes_max) {}
  [[nodiscard]] std::string_view view() const { return {bytes_.data() + begin_, end_ - begin_}; }
  void consume(std::size_t count);
  asio::mutable_buffer room();  // never empty unless the limit is reached
  void filled(std::size_t count) { end_ += count; }
  void clear() { begin_ = end_ = 0; }
  void wipe();  // clears it, and nothing of what was read stays in memory

 private:
  std::vector<char> bytes_;
  std::size_t bytes_max_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace postrider::net
