#include <unistd.h>

#include <iostream>
#include <span>

#include "train/commands/commands.h"

int main(int count, char** arguments) {
  return skyline::run_program(
      skyline::all_commands(),
      std::span<const char* const>(arguments, static_cast<std::size_t>(count)),
      {.output = std::cout,
       .messages = std::cerr,
       .terminal = skyline::terminal_facts(STDERR_FILENO)});
}
