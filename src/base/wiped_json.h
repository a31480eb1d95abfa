// Reading JSON that holds secrets.
#pragma once

namespace postrider {

/// As long as one lives, documents that this thread parses leave nothing of themselves in memory when they go.
class WipedJson {
 public:
  WipedJson();
  ~WipedJson();
  WipedJson(const WipedJson&) = delete;
  WipedJson& operator=(const WipedJson&) = delete;
};

}  // namespace postrider
