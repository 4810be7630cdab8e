#include "framework/ops/recurrent/packed_shape.h"

#include <string>
#include <utility>

#include "framework/shape.h"

namespace skyline {
namespace {

constexpr const char* kWhere = "packed_shape";

[[noreturn]] void refuse(const std::string& what, std::int32_t got, const std::string& expected) {
  throw ShapeError(kWhere, what, std::to_string(got), expected);
}

}  // namespace

PackedShape::PackedShape(std::vector<std::int32_t> batch_sizes)
    : batch_sizes_(std::move(batch_sizes)) {
  if (batch_sizes_.empty()) throw ShapeError(kWhere, "number of steps", "0", "at least 1");
  for (std::size_t step = 0; step < batch_sizes_.size(); ++step) {
    const std::int32_t size = batch_sizes_[step];
    const std::string what = "batch size of step " + std::to_string(step);
    if (size < 1) refuse(what, size, "at least 1");
    if (step > 0 && size > batch_sizes_[step - 1]) {
      refuse(what, size, "at most " + std::to_string(batch_sizes_[step - 1]) + ", as before");
    }
    offsets_.push_back(rows_);
    rows_ += size;
  }
}

PackedShape PackedShape::of_lengths(std::span<const std::int32_t> lengths) {
  if (lengths.empty()) throw ShapeError(kWhere, "number of sentences", "0", "at least 1");
  for (std::size_t k = 0; k < lengths.size(); ++k) {
    const std::string what = "length of sentence " + std::to_string(k);
    if (lengths[k] < 1) refuse(what, lengths[k], "at least 1 word");
    if (k > 0 && lengths[k] > lengths[k - 1]) {
      refuse(what, lengths[k], "at most " + std::to_string(lengths[k - 1]) + ", longest first");
    }
  }
  std::vector<std::int32_t> batch_sizes(static_cast<std::size_t>(lengths.front()));
  for (const std::int32_t length : lengths) {
    for (std::size_t step = 0; step < static_cast<std::size_t>(length); ++step) {
      ++batch_sizes[step];
    }
  }
  return PackedShape(std::move(batch_sizes));
}

}  // namespace skyline
