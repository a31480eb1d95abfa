// Two ends of a local socket: one for the code under test, which wants a TCP socket and cannot tell, one for the
// target. Everything happens on one thread: the target writes, lets the loop do what it can, and reads.
#pragma once
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/net_stream.h"

namespace postrider::fuzz {

class SocketPair {
 public:
  SocketPair() {
    POSTRIDER_CHECK(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends_.data()) == 0);
  }
  ~SocketPair() { ::close(ends_[1]); }
  SocketPair(const SocketPair&) = delete;
  SocketPair& operator=(const SocketPair&) = delete;

  /// Once.
  net::TcpSocket theirs(net::asio::io_context& io) {
    net::TcpSocket socket{io};
    socket.assign(net::asio::ip::tcp::v4(), ends_[0]);
    return socket;
  }
  /// How much the other side could take: all of it, unless it is far more than an input.
  std::size_t write(std::string_view bytes) {
    const ssize_t count = ::send(ends_[1], bytes.data(), bytes.size(), MSG_NOSIGNAL);
    return count > 0 ? static_cast<std::size_t>(count) : 0;
  }
  void write_eof() { ::shutdown(ends_[1], SHUT_WR); }
  /// What has come.
  std::string read() {
    std::string all;
    std::array<char, 4096> some{};
    for (;;) {
      const ssize_t count = ::recv(ends_[1], some.data(), some.size(), MSG_DONTWAIT);
      if (count <= 0) return all;
      all.append(some.data(), static_cast<std::size_t>(count));
    }
  }

 private:
  std::array<int, 2> ends_{};
};

}  // namespace postrider::fuzz
