#include "transport/watch.h"

#include <sys/epoll.h>

#include <array>
#include <cerrno>

#include "base/check.h"

namespace postrider::net {

Watch::Watch(asio::io_context& io, Ready ready) : ready_(std::move(ready)), epoll_(io) {
  const int handle = ::epoll_create1(EPOLL_CLOEXEC);
  POSTRIDER_CHECK(handle >= 0);
  epoll_.assign(handle);
  wait();
}

error_code Watch::add(Connection& connection) {
  error_code error;
  const int handle = connection.stream.detach(error);
  if (error) return error;
  epoll_event event{};
  event.events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;
  event.data.ptr = &connection;
  if (::epoll_ctl(epoll_.native_handle(), EPOLL_CTL_ADD, handle, &event) != 0) {
    return {errno, boost::system::system_category()};
  }
  connection.watched = true;
  return {};
}

void Watch::stop() {
  stopped_ = true;
  epoll_.cancel();
}

void Watch::wait() {
  epoll_.async_wait(asio::posix::descriptor_base::wait_read, [this](const error_code& error) {
    if (error || stopped_) return;
    tell();
    if (!stopped_) wait();
  });
}

void Watch::tell() {
  std::array<epoll_event, 128> found;
  const int count = ::epoll_wait(epoll_.native_handle(), found.data(), static_cast<int>(found.size()), 0);
  for (int i = 0; i < count; ++i) {
    const epoll_event& event = found.at(static_cast<std::size_t>(i));
    auto& connection = *static_cast<Connection*>(event.data.ptr);
    if ((event.events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0) connection.peer_closed = true;
    ready_(connection);
  }
}

}  // namespace postrider::net
