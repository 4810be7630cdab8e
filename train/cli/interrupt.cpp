#include "train/cli/interrupt.h"

#include <atomic>
#include <stdexcept>

namespace skyline {
namespace {

// Signal handlers can only reach globals.
std::atomic<int> caught{0};
std::atomic<bool> installed{false};
constexpr std::array kSignals = {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGPIPE};
constexpr std::size_t kStackBytes = 65536;  // registers take up to 11 KiB of it
static_assert(std::atomic<int>::is_always_lock_free, "handlers may touch lock-free atomics only");

// Async-signal-safe: it only stores an atomic and calls sigaction.
void on_first_signal(int signal) {
  caught.store(signal == SIGUSR1 ? SIGTERM : signal);
  struct sigaction later {};
  for (const int each : kSignals) {
    struct sigaction now {};
    sigaction(each, nullptr, &now);
    later.sa_handler = each == SIGPIPE ? SIG_IGN : SIG_DFL;
    if (now.sa_handler == on_first_signal) sigaction(each, &later, nullptr);
  }
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
  for (std::size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], nullptr, &former_[i]);
    if (former_[i].sa_handler != SIG_IGN) sigaction(kSignals[i], &action, nullptr);
  }
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
