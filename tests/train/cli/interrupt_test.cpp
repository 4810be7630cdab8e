#include "train/cli/interrupt.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace skyline {
namespace {

TEST(InterruptTest, NothingCame) {
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
  EXPECT_EQ(interrupt.signal(), 0);
  EXPECT_EQ(interrupt.exit_code(), 0);
}

TEST(InterruptTest, TheFirstSignalSetsTheFlagOnly) {
  for (const auto& [signal, exit_code] : {std::pair{SIGINT, 130}, std::pair{SIGTERM, 143},
                                          std::pair{SIGHUP, 129}, std::pair{SIGPIPE, 141}}) {
    const Interrupt interrupt;
    raise(signal);
    EXPECT_TRUE(interrupt.requested());
    EXPECT_EQ(interrupt.signal(), signal);
    EXPECT_EQ(interrupt.exit_code(), exit_code);
  }
}

// Runs `body` in a child process. Returns the signal that ended it, or −exit code.
template <typename Body>
int ended_by(Body body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
}

TEST(InterruptTest, TheSecondSignalOfEitherKindEnds) {
  for (const int first : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    for (const int second : {SIGINT, SIGTERM, SIGHUP}) {
      EXPECT_EQ(ended_by([&] {
                  const Interrupt interrupt;
                  raise(first);
                  if (interrupt.signal() != first) _exit(1);
                  raise(second);
                }),
                second);
    }
  }
}

// Saving prints messages, which must not end the program.
TEST(InterruptTest, AClosedPipeIsToldOnce) {
  EXPECT_EQ(ended_by([] {
              {
                const Interrupt interrupt;
                raise(SIGPIPE);
                raise(SIGPIPE);
                if (interrupt.exit_code() != 141) _exit(1);
              }
              raise(SIGPIPE);
            }),
            SIGPIPE)
      << "once the run is saved";
}

// As nohup ignores SIGHUP, and some parents SIGPIPE.
TEST(InterruptTest, WhatIsIgnoredStaysIgnored) {
  for (const int ignored : {SIGHUP, SIGPIPE}) {
    EXPECT_EQ(ended_by([ignored] {
                std::signal(ignored, SIG_IGN);
                {
                  const Interrupt interrupt;
                  raise(ignored);
                  if (interrupt.requested()) _exit(1);
                  raise(SIGTERM);
                  raise(ignored);
                  if (interrupt.exit_code() != 143) _exit(2);
                }
                raise(ignored);
              }),
              0);
  }
}

volatile std::sig_atomic_t former_called = 0;

TEST(InterruptTest, RestoresTheFormerHandlers) {
  const auto before = std::signal(SIGINT, [](int) { former_called = 1; });
  {
    const Interrupt interrupt;
    raise(SIGINT);
    EXPECT_EQ(former_called, 0);
  }
  raise(SIGINT);
  EXPECT_EQ(former_called, 1);
  std::signal(SIGINT, before);
}

TEST(InterruptTest, ForgetsTheSignalOfTheOneBefore) {
  {
    const Interrupt interrupt;
    raise(SIGTERM);
  }
  const Interrupt interrupt;
  EXPECT_FALSE(interrupt.requested());
}

// In a oneDNN product a thread's own stack must stay as it is.
TEST(InterruptTest, HandlesSignalsOnAStackOfItsOwn) {
  stack_t before = {}, during = {}, after = {};
  sigaltstack(nullptr, &before);
  {
    const Interrupt interrupt;
    for (const int signal : {SIGINT, SIGTERM, SIGUSR1, SIGHUP, SIGPIPE}) {
      struct sigaction action = {};
      sigaction(signal, nullptr, &action);
      EXPECT_NE(action.sa_flags & SA_ONSTACK, 0) << signal;
    }
    sigaltstack(nullptr, &during);
  }
  sigaltstack(nullptr, &after);
  EXPECT_EQ(during.ss_flags & SS_DISABLE, 0);
  EXPECT_EQ(after.ss_sp, before.ss_sp);
  EXPECT_EQ(after.ss_flags, before.ss_flags);
}

TEST(InterruptTest, OneAtATime) {
  const Interrupt interrupt;
  EXPECT_THROW(Interrupt(), std::logic_error);
}

}  // namespace
}  // namespace skyline
