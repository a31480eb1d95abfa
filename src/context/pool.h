// A few connections to one database: opened when they are needed, lent one at a time, thrown away when they break.
#pragma once
#include <condition_variable>
#include <functional>
#include <mutex>

#include "context/connection.h"

namespace postrider::context {

class Pool {
 public:
  using Open = std::function<Result<std::unique_ptr<Connection>>()>;
  struct Limits {
    int connections = 1;
    Duration wait_max = {};
  };
  Pool(Limits limits, Open open) : limits_(limits), open_(std::move(open)) {}

  struct Lent {
    std::unique_ptr<Connection> connection = {};
    bool fresh = false;  // opened for this loan
  };
  /// Waits for a free one, at most as long as the limits say.
  Result<Lent> take();
  void give_back(std::unique_ptr<Connection> connection);
  /// In the place of one that broke.
  Result<Lent> replace(std::unique_ptr<Connection> broken);

 private:
  Result<Lent> open_one();
  Result<std::unique_ptr<Connection>> is_resting(SteadyTime now);
  void rest_after(SteadyTime begun, const Error& error);

  const Limits limits_;
  const Open open_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_;
  int lent_ = 0;
  SteadyTime rest_until_ = {};
  std::string rest_because_;
};

}  // namespace postrider::context
