#include "api/http/http_answer.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace postrider {
namespace {

struct Reason {
  int status;
  const char* text;
};
constexpr std::array kReasons{
    Reason{200, "OK"},
    Reason{201, "Created"},
    Reason{202, "Accepted"},
    Reason{204, "No Content"},
    Reason{206, "Partial Content"},
    Reason{301, "Moved Permanently"},
    Reason{302, "Found"},
    Reason{303, "See Other"},
    Reason{304, "Not Modified"},
    Reason{400, "Bad Request"},
    Reason{401, "Unauthorized"},
    Reason{403, "Forbidden"},
    Reason{404, "Not Found"},
    Reason{405, "Method Not Allowed"},
    Reason{408, "Request Timeout"},
    Reason{409, "Conflict"},
    Reason{410, "Gone"},
    Reason{412, "Precondition Failed"},
    Reason{413, "Content Too Large"},
    Reason{415, "Unsupported Media Type"},
    Reason{417, "Expectation Failed"},
    Reason{422, "Unprocessable Content"},
    Reason{429, "Too Many Requests"},
    Reason{431, "Request Header Fields Too Large"},
    Reason{500, "Internal Server Error"},
    Reason{501, "Not Implemented"},
    Reason{502, "Bad Gateway"},
    Reason{503, "Service Unavailable"},
    Reason{504, "Gateway Timeout"},
};

const char* reason_of(int status) {
  const auto it = std::find_if(kReasons.begin(), kReasons.end(), [&](const Reason& r) { return r.status == status; });
  return it == kReasons.end() ? "Status" : it->text;
}

void append_quoted(std::string& out, std::string_view text) {
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
}

}  // namespace

const std::string* HttpIn::header(std::string_view name) const {
  const auto it = std::find_if(headers.begin(), headers.end(), [&](const Header& h) { return h.first == name; });
  return it == headers.end() ? nullptr : &it->second;
}

HttpOut http_error(int status, std::string_view code, std::string_view message) {
  HttpOut out;
  out.status = status;
  out.body = R"({"error":{"code":")";
  append_quoted(out.body, code);
  out.body += R"(","message":")";
  append_quoted(out.body, message);
  out.body += R"("}})";
  return out;
}

bool has_answer_body(int status) { return status >= 200 && status != 204 && status != 304; }

std::string answer_head(const HttpOut& out, ConnectionAfter then) {
  std::string head;
  head.reserve(256);
  head.append("HTTP/1.1 ").append(std::to_string(out.status)).append(" ").append(reason_of(out.status)).append("\r\n");
  if (has_answer_body(out.status)) {
    if (!out.content_type.empty()) head.append("Content-Type: ").append(out.content_type).append("\r\n");
    head.append("Content-Length: ").append(std::to_string(out.body.size())).append("\r\n");
  }
  for (const auto& [name, value] : out.headers) {
    if (has_control(name) || has_control(value) || name.empty()) continue;
    head.append(name).append(": ").append(value).append("\r\n");
  }
  switch (then) {
    case ConnectionAfter::Keep: break;
    case ConnectionAfter::KeepHttp10: head += "Connection: keep-alive\r\n"; break;
    case ConnectionAfter::Close: head += "Connection: close\r\n"; break;
  }
  head += "\r\n";
  return head;
}

}  // namespace postrider
