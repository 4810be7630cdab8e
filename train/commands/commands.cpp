#include "train/commands/commands.h"

namespace skyline {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"train", "train a model", declare_train},
      {"evaluate", "compute top-1, top-5 and loss of a checkpoint", declare_evaluate},
      {"predict", "print the likeliest classes of images", declare_predict},
      {"translate", "translate with a checkpoint and compute BLEU", declare_translate},
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
      {"reproduce", "recompute a paper's figures and compare", declare_reproduce},
      {"lab", "score an exercise on hidden cases", declare_lab},
      {"completion", "print a script that completes words in a shell", declare_completion},
  };
  return commands;
}

}  // namespace skyline
