// A mail server that keeps to a script of replies and notes what it was told.
#pragma once
#include <map>
#include <string>

#include "support/hostile_peer.h"
#include "transport/caller.h"

namespace postrider::test {

struct MailScript {
  std::string banner = "220 ready";
  std::string hello = "250-mx.example.org\r\n250-PIPELINING\r\n250-8BITMIME\r\n250-SIZE 1000000\r\n250 SMTPUTF8";
  std::map<std::string, std::string> replies;  // by the first word; otherwise the usual
  std::string after_dot = "250 2.0.0 queued as 17";
  bool close_before_dot = false;
  bool close_after_dot = false;
  ssl_ctx_st* tls = nullptr;  // for STARTTLS, or from the start
  bool implicit_tls = false;
};

class MailPeer {
 public:
  explicit MailPeer(MailScript script) : script_(std::move(script)), peer_([this](PeerSocket& s) { talk(s); }) {}

  [[nodiscard]] Endpoint endpoint(TlsMode tls = TlsMode::None) const {
    Endpoint endpoint = local_endpoint();
    endpoint.smtp_host = "127.0.0.1";
    endpoint.smtp_port = peer_.port();
    endpoint.smtp_tls = tls;
    return endpoint;
  }
  [[nodiscard]] std::vector<std::string> said() const { return peer_.notes(); }
  [[nodiscard]] int connections() const { return peer_.connections(); }
  [[nodiscard]] bool was_told(const std::string& line) const {
    const auto notes = said();
    return std::find(notes.begin(), notes.end(), line) != notes.end();
  }

 private:
  void talk(PeerSocket& socket) {
    if (script_.implicit_tls && !socket.start_tls(script_.tls)) return;
    socket.write(script_.banner + "\r\n");
    for (std::string line; !(line = socket.read_line()).empty();) {
      peer_.note(line);
      const std::string verb = line.substr(0, line.find(' '));
      const std::string reply = reply_to(verb);
      if (verb == "DATA" && reply[0] == '3' && script_.close_before_dot) {
        socket.write(reply + "\r\n");
        return;
      }
      if (!socket.write(reply + "\r\n")) return;
      if (verb == "STARTTLS" && reply[0] == '2' && !socket.start_tls(script_.tls)) return;
      if (verb == "DATA" && reply[0] == '3' && !take_mail(socket)) return;
      if (verb == "AUTH" && reply[0] == '3' && !take_login(socket)) return;
    }
  }
  std::string reply_to(const std::string& verb) const {
    if (const auto it = script_.replies.find(verb); it != script_.replies.end()) return it->second;
    if (verb == "EHLO") return script_.hello;
    if (verb == "DATA") return "354 go on";
    if (verb == "STARTTLS") return "220 go on";
    if (verb == "AUTH") return "235 welcome";
    return "250 ok";
  }
  bool take_mail(PeerSocket& socket) {
    const std::string mail = socket.read_until("\r\n.\r\n");
    if (mail.empty()) return false;
    peer_.note("MAIL BODY " + mail);
    if (script_.close_after_dot) return false;
    return socket.write(script_.after_dot + "\r\n");
  }
  bool take_login(PeerSocket& socket) {
    peer_.note("user " + socket.read_line());
    socket.write("334 UGFzc3dvcmQ6\r\n");
    peer_.note("password " + socket.read_line());
    return socket.write("235 welcome\r\n");
  }

  MailScript script_;
  HostilePeer peer_;
};

inline MailRequest a_mail(std::string to = "you@example.org") {
  return {"me@example.org", std::move(to), "Subject: hello\r\n\r\n.dot\r\nbody\r\n"};
}
inline bool is_mail(const Reply& reply, MailStep step, int code) {
  const auto* mail = std::get_if<MailReply>(&reply);
  return mail != nullptr && mail->step == step && mail->code == code;
}

}  // namespace postrider::test
