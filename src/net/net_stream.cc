#include "net/net_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/secret_text.h"

namespace postrider::net {
namespace {

// The host is checked by OpenSSL itself during the handshake, as a name or as an address.
bool expect_host(SSL* ssl, const std::string& host) {
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
  error_code not_an_address;
  asio::ip::make_address(host, not_an_address);
  if (!not_an_address) return X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1;
  // The macro SSL_set_tlsext_host_name casts away const in the old style.
  return SSL_ctrl(ssl, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name, const_cast<char*>(host.c_str())) == 1 &&
         X509_VERIFY_PARAM_set1_host(param, host.c_str(), host.size()) == 1;
}

std::unique_ptr<asio::ssl::context> make_context(asio::ssl::context::method method) {
  auto context = std::make_unique<asio::ssl::context>(method);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);  // 34 KB less for each idle connection.
  return context;
}

}  // namespace

struct NetStream::Tls {
  Tls(TcpSocket& socket, asio::ssl::context& context) : stream(socket, context) {}
  asio::ssl::stream<TcpSocket&> stream;
};

NetStream::NetStream(asio::io_context& io) : socket_(io) {}
NetStream::NetStream(TcpSocket socket) : socket_(std::move(socket)) {}
NetStream::~NetStream() {
  if (detached_ >= 0) ::close(detached_);
}

IoAwaitable NetStream::read_some(asio::mutable_buffer buffer) {
  if (tls_) return tls_->stream.async_read_some(buffer, kToken);
  return socket_.async_read_some(buffer, kToken);
}

IoAwaitable NetStream::write_some(std::array<asio::const_buffer, 2> buffers) {
  if (tls_) return tls_->stream.async_write_some(buffers, kToken);
  return socket_.async_write_some(buffers, kToken);
}

int NetStream::detach(error_code& error) {
  const int handle = socket_.release(error);
  if (!error) detached_ = handle;
  return detached_;
}

std::size_t NetStream::read_now(asio::mutable_buffer buffer, error_code& error) {
  const ssize_t came = ::recv(handle(), buffer.data(), buffer.size(), MSG_DONTWAIT);
  error = came < 0 ? error_code{errno, boost::system::system_category()} : error_code{};
  return came < 0 ? 0 : static_cast<std::size_t>(came);
}

std::size_t NetStream::write_now(const std::array<asio::const_buffer, 2>& buffers, error_code& error) {
  std::array<iovec, 2> parts{};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    parts[i] = {const_cast<void*>(buffers[i].data()), buffers[i].size()};  // sendmsg only reads
  }
  msghdr message{};
  message.msg_iov = parts.data();
  message.msg_iovlen = parts.size();
  const ssize_t went = ::sendmsg(handle(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  error = went < 0 ? error_code{errno, boost::system::system_category()} : error_code{};
  return went < 0 ? 0 : static_cast<std::size_t>(went);
}

Awaitable<std::tuple<error_code>> NetStream::wait_readable() {
  return socket_.async_wait(TcpSocket::wait_read, kToken);
}

Awaitable<std::string> NetStream::handshake(asio::ssl::context& context, TlsSide side, const std::string& host) {
  tls_ = std::make_unique<Tls>(socket_, context);
  if (side == TlsSide::Client && !expect_host(tls_->stream.native_handle(), host)) {
    co_return "the host name cannot be checked";
  }
  const auto as = side == TlsSide::Client ? asio::ssl::stream_base::client : asio::ssl::stream_base::server;
  const auto [error] = co_await tls_->stream.async_handshake(as, kToken);
  if (!error) co_return std::string{};
  const long verified = SSL_get_verify_result(tls_->stream.native_handle());
  if (side == TlsSide::Client && verified != X509_V_OK) co_return X509_verify_cert_error_string(verified);
  co_return error.message();
}

bool NetStream::is_quiet() {
  // Records that were read together with the last answer wait inside OpenSSL, where the kernel cannot see them.
  if (tls_ && (SSL_has_pending(tls_->stream.native_handle()) == 1 ||
               BIO_ctrl_pending(SSL_get_rbio(tls_->stream.native_handle())) > 0)) {
    return false;
  }
  char byte = 0;
  const ssize_t got = ::recv(handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
}

void NetStream::send_last(std::string_view text) {
  (void)::send(handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
}

void NetStream::close() {
  if (detached_ >= 0) ::close(std::exchange(detached_, -1));
  error_code ignored;
  socket_.close(ignored);
}

std::unique_ptr<asio::ssl::context> make_client_tls(const std::string& ca_file, std::string& why) {
  auto context = make_context(asio::ssl::context::tls_client);
  context->set_verify_mode(asio::ssl::verify_peer);
  error_code error;
  if (ca_file.empty()) {
    context->set_default_verify_paths(error);
  } else {
    context->load_verify_file(ca_file, error);
  }
  if (!error) return context;
  why = "authorities cannot be loaded from " + (ca_file.empty() ? std::string{"the system"} : ca_file) + ": " +
        error.message();
  return nullptr;
}

std::unique_ptr<asio::ssl::context> make_server_tls(const std::string& certificate_file, const std::string& key_file,
                                                    std::string& why) {
  auto context = make_context(asio::ssl::context::tls_server);
  error_code error;
  context->use_certificate_chain_file(certificate_file, error);
  if (!error) context->use_private_key_file(key_file, asio::ssl::context::pem, error);
  if (!error) return context;
  why = "certificate or key cannot be loaded: " + error.message();
  return nullptr;
}

void ReadBuffer::wipe() {
  clear();
  postrider::wipe(bytes_.data(), bytes_.size());
}

void ReadBuffer::consume(std::size_t count) {
  begin_ += count;
  if (begin_ == end_) clear();
}

asio::mutable_buffer ReadBuffer::room() {
  constexpr std::size_t kFirst = 4096;
  if (end_ == bytes_.size() && begin_ > 0) {
    std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (end_ == bytes_.size()) bytes_.resize(std::min(bytes_max_, std::max(kFirst, bytes_.size() * 2)));
  return asio::buffer(bytes_.data() + end_, bytes_.size() - end_);
}

}  // namespace postrider::net
