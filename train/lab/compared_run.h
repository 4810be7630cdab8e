#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/optimizers/optimizer.h"
#include "train/report/report.h"
#include "train/run/memory_summary.h"
#include "train/run/model_run.h"

namespace skyline {

// Results of one allocator.
struct ComparedRun {
  MemorySummary memory;  // if the run did not fit, only its allocator's name
  std::string problem;   // why the run did not fit; empty if it fitted
  bool fits() const noexcept { return problem.empty(); }
  std::vector<double> losses;  // one per completed step
  // Excluding the warm-up and the switch.
  std::optional<double> step_seconds_median, allocate_ns_median;
  std::uint64_t flushes = 0;  // times that cached memory was returned under pressure
  StepsChart steps;           // this allocator's line; empty unless step shapes vary
  std::string parameters_sha256;
  std::string state_sha256;  // optimizer state and running values
};

// Training or inference under one allocator, whose steps are timed. A run that does not fit frees
// its memory at once, because the others may need it.
class TimedRun {
 public:
  struct Program {
    std::function<std::unique_ptr<ModelRun>(const std::string& allocator)> make;
    std::function<void(ModelRun&)> next;  // makes the next batches the current ones; not timed
    std::int64_t warmup_steps = 1;        // the step after them includes the switch
    LearningRate rate;                    // and the number of steps
  };

  TimedRun(const Program& program, const std::string& allocator);

  bool done() const noexcept {
    return !compared_.fits() || std::ssize(compared_.losses) >= program_.rate.total_steps;
  }
  void step();
  ModelRun* run() const { return run_.get(); }  // null if it did not fit
  // Returns the results, without hashes. Call it once.
  ComparedRun finish();

 private:
  template <typename Act>
  void unless_too_large(Act act);
  void timed_step();
  void note_memory();

  Program program_;
  std::unique_ptr<ModelRun> run_;
  ComparedRun compared_;
  std::uint64_t device_allocations_before_ = 0, replans_ = 0;
  std::vector<double> step_seconds_;
  std::vector<std::uint32_t> allocate_ns_;
};

// Makes a run for each allocator and runs them to their end. They take turns of a few steps each,
// so that noise of the machine affects all of them.
std::vector<std::unique_ptr<TimedRun>> run_in_turns(const TimedRun::Program& program,
                                                    const std::vector<std::string>& allocators);

}  // namespace skyline
