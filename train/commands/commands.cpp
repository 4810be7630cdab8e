// The table of commands, and those that need a page or less.
#include "train/commands/commands.h"

#include <fmt/format.h>

#include <memory>

#include "train/checkpoints/files.h"
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

struct Script {
  std::string text;
};

Rows<Script> rows(const Script*) { return {{"script", "the script", &Script::text}}; }

}  // namespace

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"train", "train a model", declare_train},
      {"evaluate", "compute loss, and top-1 and top-5 of images", declare_evaluate},
      {"predict", "print the likeliest classes of images", declare_predict},
      {"translate", "translate with a checkpoint and compute BLEU", declare_translate},
      {"generate", "go on with a text", declare_generate},
      {"compare", "run steps under several allocators; compare two runs", declare_compare},
      {"dry-run", "compute the memory of a step without taking it", declare_dry_run},
      {"summary", "list layers, shapes, parameters, multiply-adds", declare_summary},
      {"graph", "print the ops of a step and where they write", declare_graph},
      {"check-data", "decode every image of a folder, name bad ones", declare_check_data},
      {"plan", "compute an offset for each block of a trace", declare_plan},
      {"check", "check a plan against its trace", declare_check},
      {"order", "order the ops of a step for the least peak", declare_order},
      {"check-order", "check an order against its graph", declare_check_order},
      {"replay", "replay recorded requests on any allocator", declare_replay},
      {"run", "plan the memory of any program while it runs", declare_run},
      {"reproduce", "recompute a paper's figures and compare", declare_reproduce},
      {"lab", "score an exercise on hidden cases", declare_lab},
      {"completion", "print a script that completes words in a shell", declare_completion},
  };
  return commands;
}

void require_one_input(const std::filesystem::path& one, const std::filesystem::path& other,
                       std::string_view names) {
  if (one != "-" || other != "-") return;
  throw UsageError(fmt::format("only one of {} can be standard input", names));
}

void require_folder_of(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.parent_path();
  if (file.empty() || folder.empty() || std::filesystem::is_directory(folder)) return;
  throw UsageError(fmt::format("no folder '{}' for {}", folder.string(), file.filename().string()));
}

void write_and_say(const std::filesystem::path& file, std::string_view text, Console& console) {
  write_atomically(file, text);
  console.say("wrote " + file.string());
}

CommandRun declare_lab(OptionList& list) {
  const auto arguments = std::make_shared<LabArguments>();
  list.add("LAB", choice(arguments->lab, names_of(labs()), "lab"), "Exercise to score", kRequired);
  list.add("--seed", integer(arguments->seed, 0, 1'000'000), "Seed of the hidden cases");
  list.add("--need", integer(arguments->need, 0, 100), "Exit with 1 below so many points");
  list.prints(keys<LabScore>);
  return [arguments](Console&) {
    const LabScore score = score_lab(arguments->lab, static_cast<std::uint64_t>(arguments->seed));
    return told(score, score.text(), score.points() < arguments->need ? 1 : 0);
  };
}

CommandRun declare_completion(OptionList& list) {
  const auto shell = std::make_shared<std::string>(kBash);
  list.add("SHELL", choice(*shell, {kBash, kZsh}, "shell"), "Shell to print the script for");
  list.prints(keys<Script>);
  return [shell](Console&) {
    const Script script{completion_script(all_commands(), *shell)};
    return told(script, script.text);
  };
}

}  // namespace skyline
