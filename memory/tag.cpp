#include "memory/tag.h"

namespace skyline {
namespace {

constexpr int kPhaseCount = 4;

}  // namespace

std::string_view phase_name(Phase phase) {
  switch (phase) {
    case Phase::kOutside:
      return "outside";
    case Phase::kForward:
      return "forward";
    case Phase::kBackward:
      return "backward";
    case Phase::kUpdate:
      return "update";
  }
  return "unknown";
}

std::string_view category_name(Category category) {
  switch (category) {
    case Category::kInput:
      return "input";
    case Category::kActivation:
      return "activation";
    case Category::kGradient:
      return "gradient";
    case Category::kWorkspace:
      return "workspace";
    case Category::kTemporary:
      return "temporary";
    case Category::kParameter:
      return "parameter";
    case Category::kParameterGradient:
      return "parameter gradient";
    case Category::kOptimizer:
      return "optimizer";
    case Category::kState:
      return "state";
    case Category::kUnknown:
      return "unknown";
  }
  return "unknown";
}

Phase phase_called(std::string_view name) {
  for (int i = 0; i < kPhaseCount; ++i) {
    if (phase_name(static_cast<Phase>(i)) == name) return static_cast<Phase>(i);
  }
  return Phase::kOutside;
}

Category category_called(std::string_view name) {
  for (int i = 0; i < kCategoryCount; ++i) {
    if (category_name(static_cast<Category>(i)) == name) return static_cast<Category>(i);
  }
  return Category::kUnknown;
}

std::string tag_name(const Tag& tag) {
  std::string name(tag.op.empty() ? "request" : tag.op);
  if (!tag.layer.empty()) name.append(" of ").append(tag.layer);
  name.append(" (").append(phase_name(tag.phase)).append(", ");
  return name.append(category_name(tag.category)).append(")");
}

}  // namespace skyline
