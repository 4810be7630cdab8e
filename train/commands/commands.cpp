#include "train/commands/commands.h"

namespace skyline {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {
      {"train", "train a model, from the pool to the plan", declare_train},
      {"evaluate", "top-1, top-5 and loss of a checkpoint", declare_evaluate},
      {"translate", "translations and BLEU of a checkpoint", declare_translate},
      {"compare", "the same steps under several allocators", declare_compare},
      {"dry-run", "what a model's step would need, without taking it", declare_dry_run},
      {"summary", "layers, output shapes, parameters and multiply-adds", declare_summary},
      {"check-data", "decode every image of a folder and name the bad ones", declare_check_data},
      {"plan", "plan a trace from a CSV file: an offset for each block", declare_plan},
      {"check", "check a plan against its trace, independently of all planners", declare_check},
      {"replay", "run a recorded event trace through any allocator", declare_replay},
      {"reproduce", "a paper's figures beside ours", declare_reproduce},
  };
  return commands;
}

}  // namespace skyline
