#pragma once

#include <csignal>

namespace skyline {

// While one lives, the first SIGINT or SIGTERM only sets a flag, so that the running step can
// finish and be saved; a second signal of either kind does what it always did: ends the program.
//
//   Interrupt interrupt;
//   while (!interrupt.requested()) step();
//   return interrupt.exit_code();
//
// The destructor restores the former handlers. One at a time: a second object throws
// std::logic_error. Thread rule: make and destroy it on one thread; requested() anywhere.
class Interrupt {
 public:
  Interrupt();
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  bool requested() const noexcept { return signal() != 0; }
  int signal() const noexcept;     // SIGINT, SIGTERM or 0
  int exit_code() const noexcept;  // 128 + signal: 130, 143; 0 when nothing came

 private:
  struct sigaction former_interrupt_ {};
  struct sigaction former_terminate_ {};
};

}  // namespace skyline
