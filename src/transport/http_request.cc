#include "transport/http_request.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace postrider::net {
namespace {

constexpr std::array<bool, 256> kTokenBytes = [] {
  std::array<bool, 256> is{};
  for (const char c : std::string_view{"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-.^_`|~"})
    is.at(static_cast<unsigned char>(c)) = true;
  return is;
}();

bool is_token(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return kTokenBytes[static_cast<unsigned char>(c)]; });
}

bool is_value(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return (byte < 0x20 && c != '\t') || byte == 0x7f;
  });
}

bool is_ours(std::string_view name) {
  constexpr std::array<std::string_view, 4> kOurs{"host", "content-length", "transfer-encoding", "connection"};
  return std::any_of(kOurs.begin(), kOurs.end(), [&](auto ours) { return equal_ignoring_case(name, ours); });
}

}  // namespace

Result<std::string> compose_head(const HttpRequest& request, const Url& url) {
  if (!is_token(request.method)) return Error{ErrorCode::Invalid, "the method is not a token"};
  std::string head;
  head.reserve(256 + url.target.size());
  head.append(request.method).append(" ").append(url.target).append(" HTTP/1.1\r\nHost: ").append(url.authority);
  head += "\r\n";
  bool names_agent = false;
  for (const auto& [name, value] : request.headers) {
    if (!is_token(name)) return Error{ErrorCode::Invalid, "a header name is not a token"};
    if (!is_value(value)) return Error{ErrorCode::Invalid, "control bytes in the value of header " + name};
    if (is_ours(name)) return Error{ErrorCode::Invalid, "header " + name + " is set by the transport"};
    names_agent = names_agent || equal_ignoring_case(name, "user-agent");
    head.append(name).append(": ").append(value).append("\r\n");
  }
  if (!names_agent) head += "User-Agent: postrider/" POSTRIDER_VERSION "\r\n";
  if (!request.body.empty() || (request.method != "GET" && request.method != "HEAD")) {
    head.append("Content-Length: ").append(std::to_string(request.body.size())).append("\r\n");
  }
  head += "\r\n";
  return head;
}

}  // namespace postrider::net
