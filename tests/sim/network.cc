#include "sim/network.h"

#include "base/text.h"
#include "sim/world.h"

namespace postrider::sim {
namespace {

std::string recipient_of(const Request& request) {
  if (const auto* http = std::get_if<HttpRequest>(&request)) return http->url;
  return std::get<MailRequest>(request).envelope_to;
}
std::string text_of(const Request& request) {
  if (const auto* http = std::get_if<HttpRequest>(&request)) return http->body;
  const std::string& mail = std::get<MailRequest>(request).data;  // one part, in base64
  std::string part = mail.substr(mail.find("\r\n\r\n"));
  std::erase_if(part, [](char c) { return c == '\r' || c == '\n'; });
  return from_base64(part).value_or("");
}
// What a 429 says, as the provider means it.
Duration asked_wait(const Reply& reply) {
  const auto* http = std::get_if<HttpReply>(&reply);
  if (http == nullptr || http->status != 429 || http->headers.empty()) return {};
  return std::chrono::seconds{std::stoi(http->headers.front().second)};
}
bool is_mail(const Request& request) { return std::holds_alternative<MailRequest>(request); }

}  // namespace

void Network::start(Process& from, Call call) {
  const Key key{from.self(), call.id};
  open_[key] = {.call = std::move(call), .started_at = from.now(), .decided_at = from.now()};
  world_.clock().after(world_.moment(5), from.self(), Kind::Once, [this, &from, key] { begin(from, key); });
}

void Network::abort(Process& from, CallId id) {
  const Key key{from.self(), id};
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  const BrokenAt at = found->second.begun ? BrokenAt::Whole : BrokenAt::Nothing;
  end(from, key, Broken{at, BrokenBy::Aborted, "aborted"});
}

void Network::forget(Owner process) {
  std::erase_if(open_, [process](const auto& entry) { return entry.first.first == process; });
}

Network::Fate Network::draw(ProviderId provider) {
  Faults& faults = world_.faults();
  const auto down = down_until_.find(provider);
  if (!faults.healed() && down != down_until_.end() && world_.clock().now() < down->second) {
    faults.count(Fault::ConnectFails);
    return world_.random().below(4) == 0 ? Fate::Hangs : Fate::Connect;
  }
  if (faults.strikes(Fault::ConnectFails)) return Fate::Connect;
  if (faults.strikes(Fault::CallBreaks)) return world_.random().below(4) == 0 ? Fate::Partly : Fate::Breaks;
  if (faults.strikes(Fault::CallHangs)) return Fate::Hangs;
  if (faults.strikes(Fault::ServerFault)) return Fate::Fault;
  if (faults.strikes(Fault::Busy)) return Fate::Busy;
  if (faults.strikes(Fault::RateLimit)) return Fate::Limited;
  if (faults.strikes(Fault::Refused)) return Fate::Refused;
  if (faults.strikes(Fault::Misconfigured)) return Fate::Misconfigured;
  return Fate::Ok;
}

// Some repeat what they do not like, from anywhere in it: an excerpt may end in
// the middle of a secret.
std::string Network::repeated(const Request& request) {
  std::string text = text_of(request);
  if (const std::size_t at = text.find("{\"ref\""); at != std::string::npos) text.erase(0, at);
  return std::string(world_.random().below(240), '.') + text;
}

Reply Network::answer(Fate fate, const Request& request) {
  const bool mail = is_mail(request);
  switch (fate) {
    case Fate::Ok:
      if (mail) return MailReply{MailStep::Body, 250, "queued"};
      return HttpReply{200, {}, R"({"id":"p-1"})"};
    case Fate::Connect: return Broken{BrokenAt::Nothing, BrokenBy::Connect, "refused"};
    case Fate::Partly: return Broken{mail ? BrokenAt::Nothing : BrokenAt::Partly, BrokenBy::Reset, "reset"};
    case Fate::Breaks: return Broken{BrokenAt::Whole, BrokenBy::Reset, "reset"};
    case Fate::Hangs: return Broken{BrokenAt::Whole, BrokenBy::Timeout, "no answer"};
    case Fate::Fault:
      if (mail) return Broken{BrokenAt::Whole, BrokenBy::Reset, "closed after the final dot"};
      return HttpReply{500, {}, "oops"};
    case Fate::Busy:
      if (mail) return MailReply{MailStep::RcptTo, 451, "try later"};
      return HttpReply{503, {}, ""};
    case Fate::Limited:
      if (mail) return MailReply{MailStep::MailFrom, 421, "too many"};
      return HttpReply{429, {{"retry-after", std::to_string(world_.random().below(90))}}, ""};
    case Fate::Refused:
      if (mail) return MailReply{MailStep::RcptTo, 550, repeated(request)};
      return HttpReply{400, {}, repeated(request)};
    case Fate::Misconfigured:
      if (mail) return MailReply{MailStep::Auth, 535, "bad credentials"};
      return HttpReply{401, {}, "who are you"};
  }
  POSTRIDER_DIE("a Fate outside its enum");
}

void Network::begin(Process& from, const Key& key) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  Open& open = found->second;
  // As the transport does: what could not begin in time must not begin.
  if (from.steady() > open.call.start_by || from.now() >= open.call.expires_at)
    return end(from, key, Broken{BrokenAt::Nothing, BrokenBy::Aborted, "too late"});
  const Fate fate = draw(open.call.provider);
  if (fate == Fate::Connect) return end(from, key, answer(fate, open.call.request));
  open.begun = true;
  open.started_at = from.now();
  const std::string recipient = recipient_of(open.call.request);
  const RowId delivery = world_.delivery_of(recipient);
  const CallFacts facts{.delivery = delivery,
                        .fence = from.fence_of(delivery),
                        .process = from.self(),
                        .node = from.node(),
                        .recipient = recipient,
                        .text = text_of(open.call.request),
                        .decided_at = open.decided_at,
                        .node_time = from.now(),
                        .since_last_beat = world_.clock().now() - from.last_beat};
  open.facts = facts;
  world_.call_begins(facts);
  const bool may_act = fate == Fate::Ok || fate == Fate::Breaks || fate == Fate::Hangs || fate == Fate::Fault;
  const bool acts = fate == Fate::Ok || (may_act && world_.random().below(2) == 0);
  const Duration way = world_.moment(20);
  if (acts) {
    world_.clock().after(way, kWorld, Kind::Once, [this, facts] {
      // What the kernel had not sent yet when its process died is lost now and
      // then.
      if (!world_.is_alive(facts.process) && world_.random().below(2) == 0) return;
      world_.effect(facts);
    });
  }
  Duration answered = way + world_.moment(50);
  if (fate == Fate::Hangs) answered = open.call.timeout;
  if (fate == Fate::Ok && world_.faults().strikes(Fault::SlowAnswer))
    answered = std::chrono::milliseconds{500 + world_.random().below(20'000)};
  Reply reply = answer(fate, open.call.request);
  if (answered > open.call.timeout) {
    answered = open.call.timeout;
    reply = Broken{BrokenAt::Whole, BrokenBy::Timeout, "no answer"};
  }
  const Provider& adapter = *world_.adapters().at(open.call.provider);
  if (adapter.interpret(reply, from.now()).kind == OutcomeKind::Misconfigured) world_.call_not_counted(delivery);
  world_.clock().after(answered, from.self(), Kind::Once, [this, &from, key, reply = std::move(reply)] {
    end(from, key, reply);
    if (world_.faults().strikes(Fault::CrashAtCall)) world_.crash(from.self());
  });
  if (world_.faults().strikes(Fault::CrashAtCall)) world_.crash(from.self());
}

void Network::end(Process& from, const Key& key, Reply reply) {
  const auto found = open_.find(key);
  if (found == open_.end()) return;
  if (found->second.begun) world_.call_ends(found->second.facts);
  if (const Duration wait = asked_wait(reply); wait > Duration{})
    world_.told_to_wait(found->second.facts, world_.clock().instant() + wait);
  CallEnd ended{key.second, std::move(reply), found->second.started_at, from.now()};
  open_.erase(found);
  from.call_ended(std::move(ended));
}

}  // namespace postrider::sim
