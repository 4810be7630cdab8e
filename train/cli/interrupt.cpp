#include "train/cli/interrupt.h"

#include <atomic>
#include <stdexcept>

namespace skyline {
namespace {

// Signal handlers can only reach globals.
std::atomic<int> caught{0};
std::atomic<bool> installed{false};
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1};
constexpr std::size_t kStackBytes = 65536;  // registers take up to 11 KiB of it
static_assert(std::atomic<int>::is_always_lock_free, "handlers may touch lock-free atomics only");

// Async-signal-safe: it only stores an atomic and calls sigaction.
void on_first_signal(int signal) {
  caught.store(signal == SIGUSR1 ? SIGTERM : signal);
  struct sigaction by_default {};
  by_default.sa_handler = SIG_DFL;
  for (const int each : kSignals) sigaction(each, &by_default, nullptr);
}

}  // namespace

Interrupt::Interrupt() : stack_(kStackBytes) {
  if (installed.exchange(true)) throw std::logic_error("[interrupt] one at a time");
  caught.store(0);
  const stack_t stack{.ss_sp = stack_.data(), .ss_flags = 0, .ss_size = stack_.size()};
  sigaltstack(&stack, &former_stack_);
  struct sigaction action {};
  action.sa_handler = on_first_signal;
  // Interrupted writes of logs and checkpoints continue.
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  // A second signal waits until the handler is done.
  for (const int each : kSignals) sigaddset(&action.sa_mask, each);
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &action, &former_[i]);
}

Interrupt::~Interrupt() {
  for (std::size_t i = 0; i < kSignals.size(); ++i) sigaction(kSignals[i], &former_[i], nullptr);
  sigaltstack(&former_stack_, nullptr);
  installed.store(false);
}

int Interrupt::signal() const noexcept { return caught.load(); }

int Interrupt::exit_code() const noexcept {
  constexpr int kKilledBySignal = 128;  // the shell's convention
  return requested() ? kKilledBySignal + signal() : 0;
}

}  // namespace skyline
