#include "train/report/step_json.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "memory/errors.h"

namespace skyline {
namespace {

using Json = nlohmann::ordered_json;

// Stores each text once; blocks refer to it by index.
class Strings {
 public:
  std::size_t index_of(const std::string& text) {
    const auto [place, is_new] = indices_.try_emplace(text, list_.size());
    if (is_new) list_.push_back(text);
    return place->second;
  }
  Json take() { return std::move(list_); }

 private:
  std::map<std::string, std::size_t> indices_;
  Json list_ = Json::array();
};

Json blocks_json(const Trace& trace, const Plan& plan, Strings& strings) {
  if (plan.offsets.size() != trace.size()) {
    throw PlanMismatch(fmt::format("[report] offsets of the plan, got {}, expected {}, one a block",
                                   plan.offsets.size(), trace.size()));
  }
  Json blocks = Json::array();
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TraceBlock& block = trace.blocks[i];
    const BlockTag tag = trace.tags.empty() ? BlockTag{} : trace.tags[i];
    blocks.push_back({block.lower, block.upper, block.bytes, plan.offsets[i],
                      strings.index_of(tag.op), strings.index_of(tag.layer),
                      static_cast<int>(tag.phase), static_cast<int>(tag.category),
                      strings.index_of(trace.ids.empty() ? std::string() : trace.ids[i])});
  }
  return blocks;
}

Json plan_json(const Plan& plan) {
  return {{"planner", plan.planner},         {"peak", plan.peak},
          {"lower_bound", plan.lower_bound}, {"gap", plan.gap()},
          {"alignment", plan.alignment},     {"proved_optimal", plan.proved_optimal},
          {"seconds", plan.seconds}};
}

Json phase_names() {
  Json names = Json::array();
  for (const Phase phase : {Phase::kOutside, Phase::kForward, Phase::kBackward, Phase::kUpdate}) {
    names.push_back(phase_name(phase));
  }
  return names;
}

Json category_names() {
  Json names = Json::array();
  for (int i = 0; i < kCategoryCount; ++i) {
    names.push_back(category_name(static_cast<Category>(i)));
  }
  return names;
}

}  // namespace

Json step_json(const Trace& trace, const Plan& plan) {
  Strings strings;
  Json json = {{"blocks", blocks_json(trace, plan, strings)},
               {"plan", plan_json(plan)},
               {"phases", phase_names()},
               {"categories", category_names()}};
  json["strings"] = strings.take();
  return json;
}

}  // namespace skyline
