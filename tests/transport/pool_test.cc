// Connections kept, limited, shared by lanes; calls aborted.
#include <gtest/gtest.h>

#include <future>
#include <semaphore>

#include "support/hostile_peer.h"
#include "transport/caller.h"

namespace postrider::test {
namespace {

using std::chrono::milliseconds;

HttpRequest to(const HostilePeer& peer, std::string path = "/") { return {"POST", peer.url(path), {}, "{}"}; }

TEST(Pool, AConnectionIsUsedAgain) {
  HostilePeer peer{answering(ok_response("ok"))};
  Caller caller;
  for (int i = 0; i < 20; ++i) EXPECT_EQ(status_of(caller.post(peer.url())), 200);
  EXPECT_EQ(peer.connections(), 1);
}

TEST(Pool, AConnectionThatTheServerGivesUpIsNotUsedAgain) {
  HostilePeer peer{answering("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n")};
  Caller caller;
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(caller.post(peer.url())), 200);
  EXPECT_EQ(peer.connections(), 3);
}

TEST(Pool, AnIdleConnectionThatTheServerClosedIsNoticedBeforeTheNextCall) {
  HostilePeer peer{[](PeerSocket& socket) {
    socket.read_request();
    socket.write(ok_response("ok"));  // Keep-alive promised, closed all the same.
  }};
  Caller caller;
  for (int i = 0; i < 10; ++i) {
    const Reply reply = caller.post(peer.url());
    EXPECT_EQ(status_of(reply), 200) << describe(reply);
    std::this_thread::sleep_for(milliseconds{5});  // Longer than the FIN takes.
  }
  EXPECT_EQ(peer.connections(), 10);
}

TEST(Pool, UnaskedBytesOnAnIdleConnectionAreNotTakenForAnAnswer) {
  HostilePeer peer{[](PeerSocket& socket) {
    socket.read_request();
    socket.write(ok_response("right"));
    std::this_thread::sleep_for(milliseconds{5});
    socket.write(ok_response("poison"));
    socket.wait_for_close();
  }};
  Caller caller;
  for (int i = 0; i < 3; ++i) {
    const Reply reply = caller.post(peer.url());
    ASSERT_EQ(status_of(reply), 200) << describe(reply);
    EXPECT_EQ(std::get<HttpReply>(reply).body, "right");
    std::this_thread::sleep_for(milliseconds{20});
  }
  EXPECT_EQ(peer.connections(), 3);
}

TEST(Pool, NoMoreConnectionsAreOpenedThanAllowed) {
  std::atomic<int> at_once{0};
  std::atomic<int> highest{0};
  HostilePeer peer{[&](PeerSocket& socket) {
    while (!socket.read_request().empty()) {
      const int now = ++at_once;
      for (int seen = highest; now > seen && !highest.compare_exchange_weak(seen, now);) {
      }
      std::this_thread::sleep_for(milliseconds{2});
      --at_once;
      socket.write(ok_response("ok"));
    }
  }};
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 4;
  endpoint.connections_kept_for_priority = 0;
  Caller caller{endpoint};
  std::vector<CallId> ids;
  for (int i = 0; i < 60; ++i) ids.push_back(caller.start(to(peer)));
  for (const CallId id : ids) EXPECT_EQ(status_of(caller.wait(id).reply), 200);
  EXPECT_EQ(peer.connections(), 4);
  EXPECT_EQ(highest, 4);
}

TEST(Pool, PriorityGoesFirstAndHasConnectionsOfItsOwn) {
  std::counting_semaphore<100> gate{0};
  std::mutex mutex;
  std::vector<std::string> arrived;
  HostilePeer peer{[&](PeerSocket& socket) {
    for (std::string request; !(request = socket.read_request()).empty();) {
      {
        const std::lock_guard lock{mutex};
        arrived.push_back(request.substr(5, request.find(' ', 5) - 5));
      }
      gate.acquire();
      socket.write(ok_response("ok"));
    }
  }};
  const auto wait_for_arrivals = [&](std::size_t count) {
    for (;; std::this_thread::yield()) {
      const std::lock_guard lock{mutex};
      if (arrived.size() >= count) return arrived;
    }
  };
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 2;
  endpoint.connections_kept_for_priority = 1;
  Caller caller{endpoint};
  const auto seconds = std::chrono::seconds{20};
  std::vector<CallId> ids;
  ids.push_back(caller.start(to(peer, "/bulk1"), seconds, Lane::Bulk));
  (void)wait_for_arrivals(1);
  ids.push_back(caller.start(to(peer, "/bulk2"), seconds, Lane::Bulk));  // Waits: the other connection is not for it.
  ids.push_back(caller.start(to(peer, "/standard"), seconds, Lane::Standard));
  ids.push_back(caller.start(to(peer, "/priority1"), seconds, Lane::Priority));
  EXPECT_EQ(wait_for_arrivals(2).back(), "/priority1");
  ids.push_back(caller.start(to(peer, "/priority2"), seconds, Lane::Priority));
  const CallId local = caller.start(LocalRequest{"in order"});  // When it is back, all the above have been queued.
  (void)caller.wait(local);
  gate.release();  // One connection becomes free, whichever: two at once would race for who is seen first.
  EXPECT_EQ(wait_for_arrivals(3).back(), "/priority2");
  gate.release(4);
  for (const CallId id : ids) EXPECT_EQ(status_of(caller.wait(id).reply), 200);
  // Whoever starts calls has decided about bulk and standard: they go in the order they came.
  const std::vector<std::string> wanted{"/bulk1", "/priority1", "/priority2", "/bulk2", "/standard"};
  EXPECT_EQ(arrived, wanted);
}

TEST(Pool, ACallThatCameTooLateIsNotBegun) {
  std::counting_semaphore<100> gate{0};
  HostilePeer peer{[&](PeerSocket& socket) {
    while (!socket.read_request().empty()) {
      gate.acquire();
      socket.write(ok_response("ok"));
    }
  }};
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 1;
  endpoint.connections_kept_for_priority = 0;
  Caller caller{endpoint};
  const auto soon = std::chrono::milliseconds{20};
  const CallId first = caller.start(to(peer));
  const CallId late = caller.start_by(caller.now() + soon, to(peer));
  const CallId expired = caller.start_before(caller.now() + soon, to(peer));
  const CallId later = caller.start_by(caller.now() + std::chrono::hours{1}, to(peer));
  std::this_thread::sleep_for(soon * 3);
  gate.release(2);
  EXPECT_EQ(status_of(caller.wait(first).reply), 200);
  for (const CallId id : {late, expired}) {
    const Reply reply = caller.wait(id).reply;
    const auto* broken = std::get_if<Broken>(&reply);
    ASSERT_NE(broken, nullptr);
    EXPECT_EQ(broken->at, BrokenAt::Nothing);
    EXPECT_EQ(broken->by, BrokenBy::Aborted);
  }
  EXPECT_EQ(status_of(caller.wait(later).reply), 200) << "and those behind it go on";
}

TEST(Pool, AnotherTargetTakesThePlaceOfAnIdleConnection) {
  HostilePeer first{answering(ok_response("first"))};
  HostilePeer second{answering(ok_response("second"))};
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 1;
  Caller caller{endpoint};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(std::get<HttpReply>(caller.post(first.url())).body, "first");
    EXPECT_EQ(std::get<HttpReply>(caller.post(second.url())).body, "second");
  }
}

TEST(Pool, TheTimeOfACallBeginsWhenAConnectionTakesIt) {
  HostilePeer peer{[](PeerSocket& socket) {
    while (!socket.read_request().empty()) {
      std::this_thread::sleep_for(milliseconds{60});
      socket.write(ok_response("ok"));
    }
  }};
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 1;
  Caller caller{endpoint};
  std::vector<CallId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(caller.start(to(peer), milliseconds{250}));
  for (const CallId id : ids) {
    const CallEnd end = caller.wait(id);
    EXPECT_EQ(status_of(end.reply), 200) << describe(end.reply);
    EXPECT_LT(end.ended_at - end.started_at, milliseconds{200});
  }
}

TEST(Abort, AWaitingCallLeavesNothingAndARunningOneTellsHowFarItGot) {
  std::promise<void> arrived;
  HostilePeer peer{[&](PeerSocket& socket) {
    socket.read_request();
    arrived.set_value();
    socket.wait_for_close();
  }};
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 1;
  Caller caller{endpoint};
  const CallId running = caller.start(to(peer));
  const CallId waiting = caller.start(to(peer));
  arrived.get_future().wait();
  caller.abort({waiting, running, 999});
  const Reply of_waiting = caller.wait(waiting).reply;
  const Reply of_running = caller.wait(running).reply;
  EXPECT_TRUE(is_broken(of_waiting, BrokenAt::Nothing, BrokenBy::Aborted)) << describe(of_waiting);
  EXPECT_TRUE(is_broken(of_running, BrokenAt::Whole, BrokenBy::Aborted)) << describe(of_running);
  caller.abort({waiting, running});
  EXPECT_EQ(status_of(caller.call(LocalRequest{"x"})), -1);  // The loop has seen the second abort.
  EXPECT_EQ(caller.times_ended(running), 1);
}

TEST(Abort, TheDestructorEndsEverythingOnce) {
  HostilePeer peer{[](PeerSocket& socket) { socket.wait_for_close(); }};
  Endpoint endpoint = local_endpoint();
  endpoint.connections_max = 2;
  Caller caller{endpoint};
  std::vector<CallId> ids;
  for (int i = 0; i < 20; ++i) ids.push_back(caller.start(to(peer)));
  caller.destroy();
  for (const CallId id : ids) {
    EXPECT_EQ(caller.times_ended(id), 1);
    EXPECT_EQ(as_broken(caller.wait(id).reply).by, BrokenBy::Aborted);
  }
}

TEST(Batches, LocalCallsComeBackTogether) {
  Caller caller;
  std::vector<Call> calls;
  for (CallId id = 1001; id <= 1100; ++id) calls.push_back({id, 7, Lane::Bulk, LocalRequest{"accept"}, {}});
  caller.transport().start(std::move(calls));
  const Reply reply = caller.wait(1100).reply;
  EXPECT_EQ(std::get<LocalReply>(reply).verdict, "accept");
  EXPECT_EQ(caller.batches(), 1);
}

TEST(Batches, AProviderWithoutEndpointIsInvalid) {
  Caller caller;
  caller.transport().start({Call{5000, 99, Lane::Standard, HttpRequest{}, {}}});
  EXPECT_TRUE(is_broken(caller.wait(5000).reply, BrokenAt::Nothing, BrokenBy::Invalid));
}

TEST(Batches, TwoThreadsShareTheProviders) {
  HostilePeer peer{answering(ok_response("ok"))};
  SystemClock clock;
  std::mutex mutex;
  std::condition_variable changed;
  int ended = 0;
  std::map<ProviderId, Endpoint> endpoints;
  for (ProviderId id = 1; id <= 4; ++id) endpoints.emplace(id, local_endpoint());
  NetTransportOptions options;
  options.threads = 2;
  NetTransport transport{endpoints,
                         [&](std::vector<CallEnd> ends) {
                           const std::lock_guard lock{mutex};
                           for (const CallEnd& end : ends) ended += status_of(end.reply) == 200 ? 1 : 0;
                           changed.notify_all();
                         },
                         clock, options};
  std::vector<Call> calls;
  for (CallId id = 1; id <= 100; ++id) {
    calls.push_back({id, static_cast<ProviderId>(1 + id % 4), Lane::Standard, to(peer), std::chrono::seconds{5}});
  }
  transport.start(std::move(calls));
  std::unique_lock lock{mutex};
  EXPECT_TRUE(changed.wait_for(lock, std::chrono::seconds{10}, [&] { return ended == 100; }));
}

}  // namespace
}  // namespace postrider::test
