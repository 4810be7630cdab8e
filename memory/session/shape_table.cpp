#include "memory/session/shape_table.h"

#include <algorithm>
#include <utility>

namespace skyline {

SessionShape& ShapeTable::use(ShapeKey key) {
  if (!shapes_.contains(key) && shapes_.size() >= most_) forget_oldest();
  SessionShape& shape = shapes_[key];
  if (shape.identity == 0) shape.identity = ++identities_;
  shape.last_used = ++uses_;
  return shape;
}

const SessionShape* ShapeTable::find(ShapeKey key) const noexcept {
  const auto found = shapes_.find(key);
  return found == shapes_.end() ? nullptr : &found->second;
}

SessionShape* ShapeTable::find(ShapeKey key, std::uint64_t identity) {
  const auto found = shapes_.find(key);
  const bool same = found != shapes_.end() && found->second.identity == identity;
  return same ? &found->second : nullptr;
}

void ShapeTable::renew(SessionShape& shape) {
  shape.identity = ++identities_;
  shape.wanted.reset();
  shape.uniform.clear();
}

void ShapeTable::want(SessionShape& shape, StepRecording recording) {
  shape.wanted = std::move(recording);
  shape.last_wanted = ++wants_;
}

ShapeTable::Named ShapeTable::newest_wanted() {
  Named newest;
  for (auto& [key, shape] : shapes_) {
    if (!shape.wanted) continue;
    if (newest.shape == nullptr || shape.last_wanted > newest.shape->last_wanted) {
      newest = {key, &shape};
    }
  }
  return newest;
}

std::uint64_t ShapeTable::largest_peak_bytes(const SessionShape* except) const {
  std::uint64_t bytes = 0;
  for (const auto& [key, shape] : shapes_) {
    const StepPlan& planned = shape.planned;
    if (&shape != except && planned.layout) bytes = std::max(bytes, planned.layout->peak_bytes);
  }
  return bytes;
}

void ShapeTable::forget_oldest() {
  shapes_.erase(std::min_element(shapes_.begin(), shapes_.end(), [](const auto& a, const auto& b) {
    return a.second.last_used < b.second.last_used;
  }));
}

}  // namespace skyline
