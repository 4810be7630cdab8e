#include "train/commands/commands.h"

namespace skyline {

const std::vector<Command>& all_commands() {
  static const std::vector<Command> commands = {};
  return commands;
}

}  // namespace skyline
