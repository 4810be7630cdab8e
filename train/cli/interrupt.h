#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <vector>

namespace skyline {

// While an instance exists, the first signal only sets a flag, so that the running step can finish
// and be saved: SIGINT, SIGTERM, SIGHUP (the terminal is gone) or SIGPIPE (nobody reads what is
// printed). A second one ends the program as usual, but further writes to a closed pipe fail in
// silence, because saving prints messages, too. SIGUSR1, with which clusters warn and which mpirun
// passes on, counts as SIGTERM. What is ignored already, as SIGHUP under nohup, stays ignored.
//
//   Interrupt interrupt;
//   while (!interrupt.requested()) step();
//   return interrupt.exit_code();
//
// The destructor restores the former handlers. Making a second instance at the same time throws
// std::logic_error. Thread rule: make and destroy it on the program's main thread, to which signals
// go; any thread may call requested().
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const noexcept { return signal() != 0; }
  int signal() const noexcept;     // SIGINT, SIGTERM, SIGHUP, SIGPIPE or 0
  int exit_code() const noexcept;  // 128 + signal: 130, 143, 129, 141; 0 if there was none

 private:
  // In the middle of a oneDNN product the stack pointer does not point to the stack: a handler that
  // ran there would write into the heap.
  std::vector<std::byte> stack_;
  stack_t former_stack_ = {};
  std::array<struct sigaction, 5> former_ = {};
};

}  // namespace skyline
