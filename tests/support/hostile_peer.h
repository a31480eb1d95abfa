// A server on 127.0.0.1 that does whatever its script says, byte by byte, with plain sockets: what a provider can do to
// us.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

struct ssl_st;
struct ssl_ctx_st;

namespace postrider::test {

/// One accepted connection in the hands of the script. Every call returns early when the other side or the test ends.
class PeerSocket {
 public:
  PeerSocket(int fd, int nth) : number(nth), fd_(fd) {}
  ~PeerSocket();
  PeerSocket(const PeerSocket&) = delete;
  PeerSocket& operator=(const PeerSocket&) = delete;

  const int number;  // the first connection is 1

  bool write(std::string_view bytes);
  std::string read_line();     // without the line end; empty at the end of input too
  std::string read_request();  // header and body by Content-Length; empty at the end of input
  std::string read_until(std::string_view end);
  /// The text, one byte each `every`, until the other side is gone.
  void drip(std::string_view bytes, std::chrono::milliseconds every);
  void wait_for_close();
  void half_close();
  void reset();  // RST instead of FIN
  void close();
  /// TLS as the server. False when the handshake failed.
  bool start_tls(ssl_ctx_st* context);

 private:
  friend class HostilePeer;
  int read_some(char* into, int count);
  bool fill();
  void shut_down();  // from another thread: what blocks returns

  std::mutex closing_;  // a number that was closed may already be somebody else's
  std::atomic<int> fd_;
  ssl_st* ssl_ = nullptr;
  std::string buffer_;
};

class HostilePeer {
 public:
  using Script = std::function<void(PeerSocket&)>;  // on a thread of its own for each connection
  explicit HostilePeer(Script script);
  ~HostilePeer();
  HostilePeer(const HostilePeer&) = delete;
  HostilePeer& operator=(const HostilePeer&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] std::string url(std::string_view path = "/") const;
  [[nodiscard]] int connections() const { return connections_; }
  void note(std::string line);  // for the test to read later
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  void accept_all();

  Script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> notes_;
  std::list<PeerSocket> sockets_;
  std::vector<std::thread> threads_;
  std::thread acceptor_;
};

/// Answers every request on a connection with this, until the client closes.
HostilePeer::Script answering(std::string response);
std::string ok_response(std::string_view body);

}  // namespace postrider::test
