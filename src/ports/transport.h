// How requests leave. An adapter composes a request and interprets what came back; the transport owns the sockets and
// says exactly how far the bytes got, because that decides whether a repeat is safe.
#pragma once
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/ids.h"
#include "base/secret.h"
#include "base/time.h"
#include "core/lane.h"

namespace postrider {

using Header = std::pair<std::string, std::string>;

struct HttpRequest {
  std::string method = "POST";
  std::string url;  // http:// or https://, absolute
  std::vector<Header> headers = {};
  std::string body = {};
};
struct MailRequest {
  std::string envelope_from;
  std::string envelope_to;
  std::string data;  // the whole MIME message with CRLF line ends, not yet dot-stuffed
};
/// Nothing leaves the process: sandbox and shim.
struct LocalRequest {
  std::string verdict;  // what the adapter's own interpret() will read
};
using Request = std::variant<HttpRequest, MailRequest, LocalRequest>;

struct HttpReply {
  int status = 0;
  std::vector<Header> headers;  // names in lower case
  std::string body;             // at most kReplyBodyBytesMax; a longer one is cut and the connection dropped
};
enum class MailStep : std::uint8_t { Connect, Hello, StartTls, Auth, MailFrom, RcptTo, Data, Body };
/// The reply that decided: the first refusal, or the 250 after the final dot (step Body).
struct MailReply {
  MailStep step = MailStep::Connect;
  int code = 0;
  std::string text;
};
struct LocalReply {
  std::string verdict;
};

enum class BrokenAt : std::uint8_t {
  Nothing,  // not one byte of the request was given to the kernel (SMTP: the final dot was not): safe to repeat
  Partly,   // some bytes of an HTTP request left, not all
  Whole,    // the whole request left and no complete answer came: it may have been acted on
};
enum class BrokenBy : std::uint8_t {
  Dns,
  Connect,
  Tls,
  Timeout,
  Reset,
  Garbage,
  TooLarge,
  Forbidden,  // an internal address that is not allowed: a configuration error
  Invalid,    // the request itself cannot be put on the wire (bad URL, CR LF in an address)
  Aborted,    // we stopped it: lease lost or shutting down
};
struct Broken {
  BrokenAt at = BrokenAt::Nothing;
  BrokenBy by = BrokenBy::Connect;
  std::string detail;
};
using Reply = std::variant<HttpReply, MailReply, LocalReply, Broken>;

inline constexpr std::size_t kReplyBodyBytesMax = 256U << 10U;

enum class TlsMode : std::uint8_t { None, StartTls, Implicit };
enum class InternalAddresses : bool { Forbidden, Allowed };

/// What a provider's calls go through: one pool of connections with its own limit.
struct Endpoint {
  int connections_max = 64;
  int connections_kept_for_priority = 8;                      // bulk and standard calls leave these free
  InternalAddresses internal = InternalAddresses::Forbidden;  // loopback, private, link-local, CGNAT, … (SPEC 10.4)
  std::string ca_file;                                        // empty: the system's
  // SMTP only:
  std::string smtp_host;
  std::uint16_t smtp_port = 0;
  TlsMode smtp_tls = TlsMode::StartTls;
  std::string smtp_user;
  Secret smtp_password;
  std::string smtp_hello = "localhost";
};

using CallId = std::uint64_t;

struct Call {
  CallId id = 0;
  ProviderId provider = 0;
  Lane lane = Lane::Standard;
  Request request;
  Duration timeout{};                   // from start to the complete answer, waiting for a free connection not included
  Instant start_by = Instant::max();    // not begun later, by Clock::steady(): whoever asked may no longer hold the row
  Instant expires_at = Instant::max();  // not begun from then on, by Clock::now()
};
struct CallEnd {
  CallId id = 0;
  Reply reply;
  Instant started_at;  // when a connection took it (or when it failed before)
  Instant ended_at;
};

/// Calls in, ends out, both in batches. Every started call ends exactly once, also when it is aborted. Thread-safe.
class Transport {
 public:
  using Sink = std::function<void(std::vector<CallEnd>)>;  // called on the transport's thread; must not block
  virtual ~Transport() = default;
  virtual void start(std::vector<Call> calls) = 0;
  /// Ends these calls at once: Broken by Aborted, `at` telling how far each had got. Unknown ids are ignored.
  virtual void abort(std::vector<CallId> ids) = 0;
};

}  // namespace postrider
