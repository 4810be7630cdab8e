#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skyline {

enum class Phase : std::uint8_t { kOutside, kForward, kBackward, kUpdate };
enum class Category : std::uint8_t {
  kInput,
  kActivation,
  kGradient,
  kWorkspace,
  kTemporary,
  kParameter,
  kParameterGradient,
  kOptimizer,
  kState,  // running statistics
  kUnknown,
};
inline constexpr int kCategoryCount = 10;

std::string_view phase_name(Phase phase);           // "forward"
std::string_view category_name(Category category);  // "parameter gradient"
// The inverse. Unknown names, which other programs write, become kOutside and kUnknown.
Phase phase_called(std::string_view name);
Category category_called(std::string_view name);

struct BlockTag;

// Says who requests a block. The views must be valid during the call only: an allocator that keeps
// a tag converts it to a BlockTag.
struct Tag {
  std::string_view op;
  std::string_view layer;
  Phase phase = Phase::kOutside;
  Category category = Category::kUnknown;

  explicit operator BlockTag() const;  // a conversion, so that BlockTag stays an aggregate
};

// A tag that owns its strings.
struct BlockTag {
  std::string op = {};
  std::string layer = {};
  Phase phase = Phase::kOutside;
  Category category = Category::kUnknown;

  Tag view() const noexcept { return {op, layer, phase, category}; }
  bool operator==(const BlockTag&) const = default;
};

inline Tag::operator BlockTag() const {
  return {std::string(op), std::string(layer), phase, category};
}

// Returns "conv2d of conv1 (forward, activation)"; leaves out empty names.
std::string tag_name(const Tag& tag);

}  // namespace skyline
