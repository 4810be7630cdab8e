#include <unistd.h>

#include <csignal>
#include <iostream>
#include <span>

#include "train/commands/commands.h"

int main(int count, char** arguments) {
  // A file above `ulimit -f` then ends as a WriteError, with its sentence.
  std::signal(SIGXFSZ, SIG_IGN);
  return skyline::run_program(
      skyline::all_commands(),
      std::span<const char* const>(arguments, static_cast<std::size_t>(count)),
      {.output = std::cout,
       .messages = std::cerr,
       .terminal = skyline::terminal_facts(STDERR_FILENO)});
}
