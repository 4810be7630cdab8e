#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>

#include "data/host.h"
#include "memory/machine/machine_memory.h"
#include "train/commands/commands.h"
#include "train/ranks/rank_launch.h"

namespace {

// Data knows no memory room, so the program tells it which limits there are.
std::optional<skyline::HostMemory> host_limit() {
  const std::optional<skyline::MemoryLimit> limit = skyline::tightest_limit();
  if (!limit) return {};
  return skyline::HostMemory{limit->free_bytes(), limit->name};
}

// The files of a run must never get the numbers of closed standard streams: messages would be
// written into them.
void open_standard_streams() {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // The lowest free number is this one.
    if (::fcntl(number, F_GETFD) < 0 && ::open("/dev/null", O_RDWR) < 0) std::abort();
  }
}

}  // namespace

int main(int count, char** arguments) {
  open_standard_streams();
  // A write beyond `ulimit -f` then fails with a WriteError instead of killing the program.
  std::signal(SIGXFSZ, SIG_IGN);
  // Buffers of batches, images and checkpoints are mappings of their own, so that the system has
  // them back at once. By default, the C library learns to keep blocks of up to 32 MiB.
  mallopt(M_MMAP_THRESHOLD, 1 << 20);
  skyline::set_host_limit_reader(host_limit);
  return skyline::exit_code_of_rank(
      skyline::run_program(skyline::all_commands(),
                           std::span<const char* const>(arguments, static_cast<std::size_t>(count)),
                           {.output = std::cout,
                            .messages = std::cerr,
                            .terminal = skyline::terminal_facts(STDERR_FILENO),
                            .help_columns = skyline::terminal_facts(STDOUT_FILENO).width}));
}
