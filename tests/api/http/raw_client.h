// A client that sends exactly the bytes it is given and reads what comes.
#pragma once
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>

namespace postrider::test {

class RawClient {
 public:
  explicit RawClient(std::uint16_t port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_port = htons(port);
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
  }
  ~RawClient() { ::close(fd_); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  [[nodiscard]] bool connected() const { return connected_; }
  bool send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
    return true;
  }
  /// Status line, headers and body by Content-Length; empty when the server closed first.
  std::string read_answer(bool with_body = true) {
    std::size_t end = 0;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!fill()) return {};
    }
    end += 4;
    if (const std::size_t at = buffer_.find("Content-Length: "); with_body && at < end) {
      end += static_cast<std::size_t>(std::atoi(buffer_.c_str() + at + 16));
    }
    while (buffer_.size() < end) {
      if (!fill()) return {};
    }
    std::string answer = buffer_.substr(0, end);
    buffer_.erase(0, end);
    return answer;
  }
  /// Everything until the server closes.
  std::string read_all() {
    while (fill()) {
    }
    return std::exchange(buffer_, {});
  }
  bool is_closed_within(std::chrono::milliseconds time) {
    pollfd at{fd_, POLLIN, 0};
    return ::poll(&at, 1, static_cast<int>(time.count())) == 1 && !fill();
  }
  std::string ask(std::string_view request) {
    send(request);
    return read_answer();
  }

 private:
  bool fill() {
    char chunk[4096];
    const ssize_t got = ::recv(fd_, chunk, sizeof chunk, 0);
    if (got > 0) buffer_.append(chunk, static_cast<std::size_t>(got));
    return got > 0;
  }
  int fd_;
  bool connected_ = false;
  std::string buffer_;
};

inline int status_of(const std::string& answer) { return answer.size() < 12 ? 0 : std::atoi(answer.c_str() + 9); }

}  // namespace postrider::test
