#include "memory/tag.h"

#include <algorithm>
#include <array>

namespace skyline {
namespace {

// In the sequence of the enumerators.
constexpr std::array<std::string_view, 4> kPhases = {"outside", "forward", "backward", "update"};
constexpr std::array<std::string_view, kCategoryCount> kCategories = {
    "input",     "activation",         "gradient",  "workspace", "temporary",
    "parameter", "parameter gradient", "optimizer", "state",     "unknown"};

template <typename Enum, std::size_t kCount>
Enum called(const std::array<std::string_view, kCount>& names, std::string_view name, Enum other) {
  const auto found = std::ranges::find(names, name);
  return found == names.end() ? other : static_cast<Enum>(found - names.begin());
}

}  // namespace

std::string_view phase_name(Phase phase) { return kPhases.at(static_cast<std::size_t>(phase)); }

std::string_view category_name(Category category) {
  return kCategories.at(static_cast<std::size_t>(category));
}

Phase phase_called(std::string_view name) { return called(kPhases, name, Phase::kOutside); }

Category category_called(std::string_view name) {
  return called(kCategories, name, Category::kUnknown);
}

std::string tag_name(const Tag& tag) {
  std::string name(tag.op.empty() ? "request" : tag.op);
  if (!tag.layer.empty()) name.append(" of ").append(tag.layer);
  name.append(" (").append(phase_name(tag.phase)).append(", ");
  return name.append(category_name(tag.category)).append(")");
}

}  // namespace skyline
