#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_set>
#include <vector>

namespace skyline {

struct BadImage {
  std::string path;    // as the system knows it, so not fit for a message
  std::string reason;  // "file ends early, after 248 bytes"
  bool operator==(const BadImage&) const = default;
};

// The image files that could not be read, each listed once. Thread rule: every member may be called
// from several threads at once.
class BadImages {
 public:
  void add(const std::string& path, const std::string& reason);
  // The images added since the last call, sorted by path.
  std::vector<BadImage> take_new();
  // All images, sorted by path.
  std::vector<BadImage> all() const;

 private:
  mutable std::mutex mutex_;
  std::vector<BadImage> images_;           // guarded by mutex_
  std::size_t taken_ = 0;                  // guarded by mutex_
  std::unordered_set<std::string> known_;  // paths; guarded by mutex_
};

}  // namespace skyline
