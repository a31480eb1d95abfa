// Sockets that the loop watches itself, all of them behind one handle in Asio's loop. Asio tries to read before it
// waits and makes an operation of each wait; an answer to a request has not come yet when one asks at once, and there
// are many.
#pragma once
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>
#include <functional>

#include "transport/connection.h"

namespace postrider::net {

class Watch {
 public:
  /// The socket can be read or written again, or has ended; told once for each change.
  using Ready = std::function<void(Connection&)>;
  Watch(asio::io_context& io, Ready ready);

  /// Until its socket is closed. Whoever is told of a connection must know whether it is still good: what is found
  /// ready together is told one after the other. Connections live until the turn is over.
  error_code add(Connection& connection);
  void stop();

 private:
  void wait();
  void tell();

  Ready ready_;
  asio::posix::basic_stream_descriptor<Executor> epoll_;
  bool stopped_ = false;
};

}  // namespace postrider::net
