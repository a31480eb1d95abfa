// A mail server that is strict about everything: one command per line, each exactly the one that belongs here, with
// exactly the arguments that were asked for. Whatever else a client says ends the process: some input changed the
// structure of the dialogue.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/text.h"
#include "fuzz/input.h"

namespace postrider::fuzz {

struct ExpectedMail {
  std::string hello = {};
  std::string user = {};
  std::string password = {};
  std::string from = {};
  std::string to = {};
  std::string data = {};
};

class MailModel {
 public:
  /// `abilities`: one bit for each extension. `choices`: one byte for each answer; 0 and everything unknown is a yes.
  MailModel(const ExpectedMail& expected, std::uint8_t abilities, std::string_view choices)
      : expected_(expected), abilities_(abilities), choices_(choices) {}

  std::string banner() { return answer("220 mail.example.org ready\r\n"); }
  /// Takes what the client said and gives the answers to it.
  std::string take(std::string_view bytes) {
    said_ += bytes;
    std::string answers;
    while (!gone_) {
      const std::size_t end = said_.find("\r\n");
      if (end == std::string::npos) break;
      const std::string line = said_.substr(0, end);
      said_.erase(0, end + 2);
      POSTRIDER_CHECK(line.find_first_of("\r\n") == std::string::npos && line.find('\0') == std::string::npos);
      answers += in_data_ ? data_line(line) : command(line);
    }
    POSTRIDER_CHECK(gone_ || said_.find('\n') == std::string::npos);
    return answers;
  }
  /// It closed, or wants to.
  [[nodiscard]] bool gone() const { return gone_; }
  [[nodiscard]] int messages() const { return messages_; }
  /// Of the last message; empty when there was none.
  [[nodiscard]] int answer_to_message() const { return answer_to_message_; }
  [[nodiscard]] bool holds_part_of_a_message() const { return in_data_ && (!data_.empty() || !said_.empty()); }

 private:
  enum class Phase : std::uint8_t { Hello, Ready, Password, User, Mail, Recipient };

  [[nodiscard]] bool can(unsigned bit) const { return (static_cast<unsigned>(abilities_) >> bit & 1U) != 0; }

  // What was wanted, or what the choices say instead.
  std::string answer(std::string yes) {
    const char choice = choices_.empty() ? '\0' : choices_.front();
    if (!choices_.empty()) choices_.remove_prefix(1);
    agreed_ = false;
    switch (choice) {
      case '4': return "451 not now\r\n";
      case '5': return "550-5.1.1 no\r\n550 5.1.1 really\r\n";
      case '1': gone_ = true; return "421 closing\r\n";
      case 'g': gone_ = true; return "what?\r\n";
      case 'x': gone_ = true; return "";
      case '3': return "354 go on\r\n";
      default: agreed_ = true; return yes;
    }
  }

  std::string command(const std::string& line) {
    POSTRIDER_CHECK(!has_control(line));
    switch (phase_) {
      case Phase::Hello: return hello(line);
      case Phase::User: return word(line, expected_.user, Phase::Password, "334 UGFzc3dvcmQ6\r\n");
      case Phase::Password: return word(line, expected_.password, Phase::Ready, "235 welcome\r\n");
      case Phase::Ready:
      case Phase::Mail:
      case Phase::Recipient: break;
    }
    if (line.starts_with("AUTH ")) return auth(line);
    if (line == "RSET") {
      phase_ = Phase::Ready;
      return answer("250 forgotten\r\n");
    }
    if (line == "DATA") return data();
    if (line.starts_with("RCPT ")) return recipient(line);
    return mail(line);
  }

  std::string hello(const std::string& line) {
    POSTRIDER_CHECK(line == "EHLO " + expected_.hello || (greeted_ && line == "HELO " + expected_.hello));
    greeted_ = true;
    std::string yes = "250-mail.example.org\r\n";
    static constexpr const char* kAbilities[] = {"PIPELINING", "8BITMIME",         "SMTPUTF8",
                                                 "SIZE 1000",  "AUTH PLAIN LOGIN", "AUTH LOGIN"};
    if (line.starts_with("EHLO")) {
      for (unsigned bit = 0; bit < 6; ++bit) {
        if (can(bit)) yes += std::string{"250-"} + kAbilities[bit] + "\r\n";
      }
    }
    std::string told = answer(yes + "250 HELP\r\n");
    if (agreed_) phase_ = Phase::Ready;
    return told;
  }
  std::string auth(const std::string& line) {
    POSTRIDER_CHECK(phase_ == Phase::Ready && !expected_.user.empty());
    if (line == "AUTH LOGIN") {
      std::string told = answer("334 VXNlcm5hbWU6\r\n");
      if (told.starts_with("3")) phase_ = Phase::User;
      return told;
    }
    const std::string nul(1, '\0');
    POSTRIDER_CHECK(line == "AUTH PLAIN " + to_base64(nul + expected_.user + nul + expected_.password));
    return answer("235 welcome\r\n");
  }
  std::string word(const std::string& line, const std::string& wanted, Phase next, const char* yes) {
    POSTRIDER_CHECK(line == to_base64(wanted));
    phase_ = next;
    return answer(yes);
  }
  std::string mail(const std::string& line) {
    const std::string begin = "MAIL FROM:<" + expected_.from + ">";
    POSTRIDER_CHECK(line.starts_with(begin) && phase_ == Phase::Ready);
    std::string_view rest = std::string_view{line}.substr(begin.size());
    for (const std::string& parameter :
         {std::string{" BODY=8BITMIME"}, std::string{" SMTPUTF8"}, " SIZE=" + std::to_string(expected_.data.size())}) {
      if (rest.starts_with(parameter)) rest.remove_prefix(parameter.size());
    }
    POSTRIDER_CHECK(rest.empty());
    std::string told = answer("250 2.1.0 ok\r\n");
    if (agreed_) phase_ = Phase::Mail;
    return told;
  }
  std::string recipient(const std::string& line) {
    POSTRIDER_CHECK(line == "RCPT TO:<" + expected_.to + ">");
    if (phase_ != Phase::Mail) {
      POSTRIDER_CHECK(can(0));  // Only who says it all at once can be here without a MAIL that was taken.
      return "503 no sender\r\n";
    }
    std::string told = answer("250 2.1.5 ok\r\n");
    if (agreed_) phase_ = Phase::Recipient;
    return told;
  }
  std::string data() {
    const bool ready = phase_ == Phase::Recipient;
    POSTRIDER_CHECK(ready || can(0));
    const bool insists = !ready && !choices_.empty() && choices_.front() == '3';  // takes it all the same
    if (!ready && !insists) return "503 no recipient\r\n";
    std::string told = answer("354 go on\r\n");
    in_data_ = told.starts_with("354");
    refused_before_ = !ready;
    return told;
  }
  std::string data_line(const std::string& line) {
    POSTRIDER_CHECK(!refused_before_);  // A message for nobody we named.
    if (line != ".") {
      data_ += std::string_view{line}.substr(line.starts_with(".") ? 1 : 0);
      data_ += "\r\n";
      POSTRIDER_CHECK(!line.starts_with(".") || line.starts_with(".."));
      return "";
    }
    const bool ended = expected_.data.ends_with("\r\n");
    POSTRIDER_CHECK(data_ == expected_.data + (ended ? "" : "\r\n"));
    in_data_ = false;
    data_.clear();
    phase_ = Phase::Ready;
    ++messages_;
    const std::string told = answer("250 2.0.0 queued as 4711\r\n");
    answer_to_message_ = told.empty() || told.front() == 'w' ? 0 : (told[0] - '0') * 100;
    return told;
  }

  const ExpectedMail& expected_;
  std::uint8_t abilities_;
  std::string_view choices_;
  std::string said_;
  std::string data_;
  Phase phase_ = Phase::Hello;
  bool agreed_ = false;
  bool greeted_ = false;
  bool in_data_ = false;
  bool refused_before_ = false;
  bool gone_ = false;
  int messages_ = 0;
  int answer_to_message_ = 0;
};

}  // namespace postrider::fuzz
