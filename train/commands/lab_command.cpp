#include <memory>

#include "train/commands/commands.h"
#include "train/labs/lab.h"

namespace skyline {

Rows<LabMark> rows(const LabMark*) {
  return {{"finding", "what was seen", &LabMark::finding},
          {"most", kCount, "points that it is worth", &LabMark::most},
          {"points", kCount, "that were reached", &LabMark::points},
          {"task", "what was asked", &LabMark::task}};
}

Rows<LabScore> rows(const LabScore*) {
  return {{"lab", "the exercise", &LabScore::lab},
          {"marks", "one object a task", &LabScore::marks},
          {"most", kCount, "points of all tasks", &LabScore::most},
          {"points", kCount, "that were reached", &LabScore::points},
          {"seed", kNumber, "of the hidden cases", &LabScore::seed}};
}

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

}  // namespace

CommandRun declare_lab(OptionList& list) {
  const auto arguments = std::make_shared<LabArguments>();
  list.add("LAB", choice(arguments->lab, lab_names(), "lab"), "Exercise to score", kRequired);
  list.add("--seed", integer(arguments->seed, 0, 1'000'000), "Seed of the hidden cases");
  list.add("--need", integer(arguments->need, 0, 100), "Exit with 1 below so many points");
  list.prints(keys<LabScore>);
  return [arguments](Console&) {
    const LabScore score = score_lab(arguments->lab, static_cast<std::uint64_t>(arguments->seed));
    return CommandResult{.json = json_text(value_of(score)),
                         .text = score.text(),
                         .exit_code = score.points() < arguments->need ? 1 : 0};
  };
}

}  // namespace skyline
