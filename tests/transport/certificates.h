// Certificates for one test, made on the spot: a CA, and leaves that are good or bad in one way.
#pragma once
#include <memory>
#include <string>

struct ssl_ctx_st;

namespace postrider::test {

struct Leaf {
  std::string san = "IP:127.0.0.1";  // as in openssl.cnf
  long from_seconds = -3600;         // from now
  long until_seconds = 3600;
};

class TestCa {
 public:
  TestCa();
  ~TestCa();
  TestCa(const TestCa&) = delete;
  TestCa& operator=(const TestCa&) = delete;

  [[nodiscard]] std::string file() const { return folder_ + "/ca.pem"; }
  struct Files {
    std::string certificate;
    std::string key;
  };
  Files make_leaf(const Leaf& leaf);
  /// A context for a server; lives as long as this object.
  ssl_ctx_st* server(const Leaf& leaf);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  std::string folder_;
};

}  // namespace postrider::test
