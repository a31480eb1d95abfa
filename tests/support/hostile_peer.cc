#include "support/hostile_peer.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>

#include "base/check.h"

namespace postrider::test {

PeerSocket::~PeerSocket() {
  close();
  if (ssl_ != nullptr) SSL_free(ssl_);
}

bool PeerSocket::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const auto sent = ssl_ != nullptr ? SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size()))
                                      : static_cast<int>(::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL));
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

int PeerSocket::read_some(char* into, int count) {
  if (ssl_ != nullptr) return SSL_read(ssl_, into, count);
  return static_cast<int>(::recv(fd_, into, static_cast<std::size_t>(count), 0));
}

bool PeerSocket::fill() {
  char chunk[4096];
  const int got = read_some(chunk, sizeof chunk);
  if (got > 0) buffer_.append(chunk, static_cast<std::size_t>(got));
  return got > 0;
}

std::string PeerSocket::read_until(std::string_view end) {
  std::size_t at = 0;
  while ((at = buffer_.find(end)) == std::string::npos) {
    if (!fill()) return {};
  }
  std::string text = buffer_.substr(0, at);
  buffer_.erase(0, at + end.size());
  return text;
}

std::string PeerSocket::read_line() { return read_until("\r\n"); }

std::string PeerSocket::read_request() {
  std::string head = read_until("\r\n\r\n");
  if (head.empty()) return {};
  std::size_t length = 0;
  if (const std::size_t at = head.find("Content-Length: "); at != std::string::npos) {
    length = static_cast<std::size_t>(std::atoi(head.c_str() + at + 16));
  }
  while (buffer_.size() < length) {
    if (!fill()) return {};
  }
  head += "\r\n\r\n" + buffer_.substr(0, length);
  buffer_.erase(0, length);
  return head;
}

void PeerSocket::drip(std::string_view bytes, std::chrono::milliseconds every) {
  for (const char c : bytes) {
    if (!write(std::string_view{&c, 1})) return;
    pollfd gone{fd_, POLLRDHUP, 0};
    if (::poll(&gone, 1, static_cast<int>(every.count())) != 0) return;
  }
}

void PeerSocket::wait_for_close() {
  while (fill()) {
  }
}

void PeerSocket::half_close() { ::shutdown(fd_, SHUT_WR); }

void PeerSocket::reset() {
  const linger at_once{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  close();
}

void PeerSocket::shut_down() {
  const std::lock_guard lock{closing_};
  if (fd_ >= 0) ::shutdown(fd_, SHUT_RDWR);
}

void PeerSocket::close() {
  const std::lock_guard lock{closing_};
  if (const int fd = fd_.exchange(-1); fd >= 0) ::close(fd);
}

bool PeerSocket::start_tls(ssl_ctx_st* context) {
  ssl_ = SSL_new(context);
  SSL_set_fd(ssl_, fd_);
  return SSL_accept(ssl_) == 1;
}

HostilePeer::HostilePeer(Script script) : script_(std::move(script)) {
  // OpenSSL writes to its socket with write(): a client that went away must not end the test.
  ::signal(SIGPIPE, SIG_IGN);
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  POSTRIDER_CHECK(::bind(listener_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  POSTRIDER_CHECK(::listen(listener_, 512) == 0);
  socklen_t size = sizeof at;
  ::getsockname(listener_, reinterpret_cast<sockaddr*>(&at), &size);
  port_ = ntohs(at.sin_port);
  acceptor_ = std::thread{[this] { accept_all(); }};
}

HostilePeer::~HostilePeer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  for (PeerSocket& socket : sockets_) socket.shut_down();
  for (std::thread& thread : threads_) thread.join();
}

void HostilePeer::accept_all() {
  for (;;) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0 || stopping_) {
      if (fd >= 0) ::close(fd);
      return;
    }
    PeerSocket& socket = sockets_.emplace_back(fd, ++connections_);
    threads_.emplace_back([this, &socket] {
      script_(socket);
      socket.close();
    });
  }
}

std::string HostilePeer::url(std::string_view path) const {
  return "http://127.0.0.1:" + std::to_string(port_) + std::string{path};
}

void HostilePeer::note(std::string line) {
  const std::lock_guard lock{mutex_};
  notes_.push_back(std::move(line));
}

std::vector<std::string> HostilePeer::notes() const {
  const std::lock_guard lock{mutex_};
  return notes_;
}

std::string ok_response(std::string_view body) {
  return "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string{body};
}

HostilePeer::Script answering(std::string response) {
  return [response = std::move(response)](PeerSocket& socket) {
    while (!socket.read_request().empty()) socket.write(response);
  };
}

}  // namespace postrider::test
