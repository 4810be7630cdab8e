#include "train/lab/compared_run.h"

#include <algorithm>
#include <utility>

#include "memory/device/out_of_memory.h"
#include "memory/now_seconds.h"

namespace skyline {
namespace {

// Steps per turn of an allocator: enough to warm the caches, but each takes four turns or more.
std::int64_t steps_per_turn(std::int64_t steps) {
  return std::clamp<std::int64_t>(steps / 4, 1, 10);
}

}  // namespace

template <typename Act>
void TimedRun::unless_too_large(Act act) {
  try {
    act();
  } catch (const OutOfMemory& refusal) {
    compared_.problem = refusal.what();
    run_.reset();
  }
}

TimedRun::TimedRun(const Program& program, const std::string& allocator) : program_(program) {
  compared_.memory.allocator = allocator;
  unless_too_large([&] { run_ = program_.make(allocator); });
}

void TimedRun::step() {
  unless_too_large([this] {
    program_.next(*run_);
    timed_step();
    note_memory();
  });
}

ComparedRun TimedRun::finish() {
  if (!compared_.fits()) return std::move(compared_);
  compared_.memory = memory_summary(*run_, compared_.memory.allocator, device_allocations_before_);
  compared_.flushes = run_->memory.statistics().flushes;
  compared_.step_seconds_median = median(step_seconds_);
  compared_.allocate_ns_median = median(allocate_ns_);
  return std::move(compared_);
}

void TimedRun::timed_step() {
  const std::int64_t number = std::ssize(compared_.losses);
  const double started = now_seconds();
  compared_.losses.push_back(run_->train_step(
      {.learning_rate = static_cast<float>(program_.rate.at(number)), .step = number + 1}));
  const double seconds = now_seconds() - started;
  if (number + 1 == program_.warmup_steps) {
    device_allocations_before_ = run_->memory.statistics().device_allocations;
  }
  // The step after the warm-up includes the switch, so it is not timed either.
  if (number <= program_.warmup_steps) return;
  step_seconds_.push_back(seconds);
  const std::vector<std::uint32_t>& calls = run_->memory.calls().last_step().acquire_ns;
  allocate_ns_.insert(allocate_ns_.end(), calls.begin(), calls.end());
}

// Adds a point to the page's chart if step shapes vary.
void TimedRun::note_memory() {
  StepMemory step{.lengths = run_->batch_facts().lengths};
  if (step.lengths.empty()) return;
  if (const Session* session = run_->memory.session()) {
    const std::uint64_t replans = session->session_statistics().replans;
    step.replans = replans - std::exchange(replans_, replans);
  }
  step.reserved_bytes = run_->memory.device().statistics().reserved_bytes;
  step.live_bytes = run_->memory.calls().last_step().peak_bytes;
  compared_.steps.add(compared_.memory.allocator, step);
}

std::vector<std::unique_ptr<TimedRun>> run_in_turns(const TimedRun::Program& program,
                                                    const std::vector<std::string>& allocators) {
  std::vector<std::unique_ptr<TimedRun>> runs;
  for (const std::string& name : allocators) {
    runs.push_back(std::make_unique<TimedRun>(program, name));
  }
  const std::int64_t turn = steps_per_turn(program.rate.total_steps);
  while (!std::ranges::all_of(runs, [](const auto& run) { return run->done(); })) {
    for (const auto& run : runs) {
      for (std::int64_t i = 0; i < turn && !run->done(); ++i) run->step();
    }
  }
  return runs;
}

}  // namespace skyline
