#include <memory>
#include <nlohmann/json.hpp>

#include "train/cli/json_text.h"
#include "train/commands/commands.h"
#include "train/labs/lab.h"

namespace skyline {
namespace {

struct LabArguments {
  std::string lab{labs().front().name};
  std::int64_t seed = 1;
  std::int64_t need = 0;
};

std::vector<std::string> lab_names() {
  std::vector<std::string> names;
  for (const Lab& lab : labs()) names.emplace_back(lab.name);
  return names;
}

nlohmann::json json_of(const LabScore& score) {
  nlohmann::json marks = nlohmann::json::array();
  for (const LabMark& mark : score.marks) {
    marks.push_back({{"task", mark.task},
                     {"points", mark.points},
                     {"most", mark.most},
                     {"finding", mark.finding}});
  }
  return {{"lab", score.lab},
          {"seed", score.seed},
          {"points", score.points()},
          {"most", score.most()},
          {"marks", marks}};
}

}  // namespace

CommandRun declare_lab(OptionList& list) {
  const auto arguments = std::make_shared<LabArguments>();
  list.add("LAB", choice(arguments->lab, lab_names(), "lab"), "Exercise to score", kRequired);
  list.add("--seed", integer(arguments->seed, 0, 1'000'000), "Seed of the hidden cases");
  list.add("--need", integer(arguments->need, 0, 100), "Exit with 1 below so many points");
  return [arguments](Console&) {
    const LabScore score = score_lab(arguments->lab, static_cast<std::uint64_t>(arguments->seed));
    return CommandResult{.json = json_text(json_of(score)),
                         .text = score.text(),
                         .exit_code = score.points() < arguments->need ? 1 : 0};
  };
}

}  // namespace skyline
