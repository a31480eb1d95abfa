// HTTP requests to what they mean: finds the route, asks who is calling, and lets the resource answer.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "api/http/http_server.h"
#include "api/parts.h"

namespace postrider {

class Api {
 public:
  explicit Api(ApiParts parts);
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  /// For HttpServer::start(). Valid until this Api ends; the server must be stopped before.
  Handler handler();
  /// Refuses what waits and ends the worker threads. Call it when the server has stopped. Idempotent.
  void stop();

  /// Requests answered so far by (route's path, status); requests that fit no route are under "other".
  [[nodiscard]] std::map<std::pair<std::string, int>, std::uint64_t> requests() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace postrider
