#include "train/lab/pgmo/pgmo_measure.h"

#include <fmt/format.h>
#include <omp.h>

#include <map>
#include <memory>

#include "memory/device/devices.h"
#include "memory/now_seconds.h"
#include "models/models.h"
#include "train/decide/live_parts.h"
#include "train/images/image_run.h"
#include "train/lab/compared_run.h"
#include "train/lab/dry_run/largest_batch.h"
#include "train/lab/pgmo/pgmo.h"
#include "train/lab/pgmo/pgmo_seq2seq.h"
#include "train/options/memory_options.h"
#include "train/options/step_options.h"
#include "train/options/train_options.h"
#include "train/translation/translation_run.h"

namespace skyline {
namespace {

constexpr const char* kPool = "best-fit-pool";
constexpr const char* kGrow = "planned-grow";
// Plans by a dry run before the first step, so that no warm-up needs the pool's bytes.
constexpr const char* kUpperBound = "planned-upper-bound";

// Returns a batch of made-up images.
Batch image_batch(const ModelShape& shape, std::int64_t size) {
  Batch batch{.size = static_cast<std::size_t>(size)};
  const auto pixels = static_cast<std::size_t>(shape.channels) *
                      static_cast<std::size_t>(shape.height) *
                      static_cast<std::size_t>(shape.width);
  std::uint32_t random = 1;
  batch.images.resize(batch.size * pixels);
  for (float& value : batch.images) {
    random = random * 1664525u + 1013904223u;  // Numerical Recipes, section 7.1
    value = static_cast<float>(random >> 8) * 0x1p-23f - 1;
  }
  for (std::int64_t i = 0; i < size; ++i) {
    batch.labels.push_back(static_cast<std::int32_t>(i % shape.classes));
  }
  return batch;
}

class Stopwatch {
 public:
  explicit Stopwatch(const PgmoMeasuring& measuring)
      : measuring_(measuring),
        device_options_(resolved(DeviceOptions{}, measuring.device)),
        live_{.engines = read_engines(device_options_, measuring.device)},
        capacity_bytes_(measuring.capacity_bytes) {
    if (!capacity_bytes_ && measuring.device != "cpu") {
      capacity_bytes_ = make_device(measuring.device, {})->capacity_bytes();
    }
  }

  PgmoTime images(std::string panel, const std::string& network, Mode mode, std::int64_t size) {
    PgmoTime time{.panel = std::move(panel), .network = network, .mode = mode};
    time.arms = image_arms(network, mode, size, {kPool, kUpperBound});
    return time;
  }

  PgmoTime sentences(std::string panel, Mode mode, std::int64_t size) {
    PgmoTime time{.panel = std::move(panel), .network = std::string(kSeq2Seq), .mode = mode};
    say(time.network, mode, size);
    const Context::Options context = context_options(time.network, mode);
    const TranslationRunOptions options{.shape = measuring_.translation,
                                        .watch = {.timed = true},
                                        .translate_words = kPgmoAnswerWords};
    const std::vector<PairBatch> batches = drawn_mini_batches(kPgmoMiniBatches, size);
    const auto make = [&](const std::string& allocator) {
      auto run = std::make_unique<TranslationRun>(memory_of(allocator), context, options);
      if (allocator == kUpperBound) {
        std::vector<Trace> traces;
        TranslationDryRun dry(context, options);
        for (const PairBatch& batch : batches) traces.push_back(dry.trace({batch}));
        run->memory.session()->adopt(traces, {0, run->step_kind()});
      }
      return run;
    };
    std::map<const ModelRun*, std::size_t> taken;
    const auto next = [&](ModelRun& run) {
      static_cast<TranslationRun&>(run).take({batches[taken[&run]++ % batches.size()]});
    };
    time.arms = arms_of(make, next, size, {kPool, kGrow, kUpperBound});
    return time;
  }

  // Empty if the capacity is not known.
  std::optional<PgmoTime> largest(const std::string& network) {
    if (!capacity_bytes_) return {};
    PgmoTime time{.panel = "a", .network = network};
    const LargestBatches found = largest_batches(
        {.model = network, .shape = find_model(network).shape, .compute = compute()},
        *capacity_bytes_, {{.allocator = kPool}, {.allocator = std::string(kPlannedAllocator)}});
    const char* const allocators[] = {kPool, kUpperBound};
    for (std::size_t k = 0; k < std::size(allocators); ++k) {
      const std::int64_t size = found.allocators[k].batch_size;
      if (size == 0) {
        time.arms.push_back({.allocator = allocators[k]});
      } else {
        time.arms.push_back(image_arms(network, Mode::kTraining, size, {allocators[k]}).front());
      }
    }
    return time;
  }

 private:
  std::vector<PgmoArmTime> image_arms(const std::string& network, Mode mode, std::int64_t size,
                                      const std::vector<std::string>& allocators) {
    say(network, mode, size);
    const Context::Options context = context_options(network, mode);
    const ImageRunOptions options{.model = network,
                                  .shape = find_model(network).shape,
                                  .watch = {.timed = true},
                                  .batch_size = static_cast<std::size_t>(size)};
    const Batch batch = image_batch(options.shape, size);
    const auto make = [&](const std::string& allocator) {
      auto run = std::make_unique<ImageRun>(memory_of(allocator), context, options);
      if (Session* session = run->memory.session()) {
        DryRun dry(std::make_unique<ImageRun>(dry_memory(), dry_context(context, mode), options));
        session->adopt(dry.foresee(size, mode).trace, mode == Mode::kTraining
                                                          ? training_key(options.batch_size)
                                                          : inference_key(options.batch_size));
      }
      run->take(batch);
      return run;
    };
    return arms_of(
        make, [](ModelRun&) {}, size, allocators);
  }

  std::vector<PgmoArmTime> arms_of(
      const std::function<std::unique_ptr<ModelRun>(const std::string&)>& make,
      const std::function<void(ModelRun&)>& next, std::int64_t size,
      const std::vector<std::string>& allocators) const {
    const TimedRun::Program program{.make = make,
                                    .next = next,
                                    .warmup_steps = measuring_.warmup_steps,
                                    .rate = {.base = 1e-5, .total_steps = measuring_.steps}};
    std::vector<PgmoArmTime> arms;
    for (const auto& timed : run_in_turns(program, allocators)) {
      const ComparedRun run = timed->finish();
      arms.push_back({.allocator = run.memory.allocator, .batch_size = size});
      if (!run.fits()) continue;
      arms.back().step_seconds = run.step_seconds_median;
      arms.back().allocate_ns = run.allocate_ns_median;
    }
    return arms;
  }

  std::shared_ptr<Compute> compute() const {
    return make_compute(measuring_.device, device_options_, live_);
  }
  // One compute for all runs: they take turns.
  Context::Options context_options(const std::string& network, Mode mode) const {
    omp_set_num_threads(static_cast<int>(threads_for(network, 0)));
    Context::Options context = skyline::context_options(StepOptions{});
    context.compute = compute();
    context.mode = mode;
    return context;
  }
  MemoryOptions memory_of(const std::string& allocator) const {
    return with_policy({.device = measuring_.device,
                        .capacity_bytes = measuring_.capacity_bytes,
                        .warmup_steps = static_cast<int>(measuring_.warmup_steps)},
                       allocator);
  }
  void say(const std::string& network, Mode mode, std::int64_t size) const {
    if (!measuring_.say) return;
    measuring_.say(fmt::format("{}, {} at {} …", network, pgmo_mode_name(mode), size));
  }

  const PgmoMeasuring& measuring_;
  DeviceOptions device_options_;
  LiveParts live_;
  std::optional<std::uint64_t> capacity_bytes_;
};

Table times_table(const std::vector<PgmoTime>& rows) {
  Table table(
      "<3 | <network | <step | batch | <allocator | seconds a step | a second | "
      "ns an allocation | speed");
  for (const PgmoTime& row : rows) {
    for (std::size_t k = 0; k < row.arms.size(); ++k) {
      const PgmoArmTime& arm = row.arms[k];
      const bool fits = arm.step_seconds.has_value();
      const std::optional<double> speed = row.speed(k);
      table.add_row(
          {"(" + row.panel + ")", row.network, pgmo_mode_name(row.mode),
           std::to_string(arm.batch_size), arm.allocator,
           fits ? fmt::format("{:.4f}", *arm.step_seconds) : "N/A",
           fits ? fmt::format("{:.2f}", static_cast<double>(arm.batch_size) / *arm.step_seconds)
                : "N/A",
           arm.allocate_ns ? fmt::format("{:.0f}", *arm.allocate_ns) : "",
           speed ? fmt::format("{:.2f} x", *speed) : ""});
    }
  }
  return table;
}

}  // namespace

std::optional<double> PgmoTime::speed(std::size_t number) const {
  if (number >= arms.size() || !arms[0].step_seconds || !arms[number].step_seconds) return {};
  const auto speed_of = [](const PgmoArmTime& arm) {
    return static_cast<double>(arm.batch_size) / *arm.step_seconds;
  };
  return speed_of(arms[number]) / speed_of(arms[0]);
}

PgmoTimes measure_pgmo(const PgmoMeasuring& measuring, const std::vector<std::string>& networks,
                       const std::vector<std::int64_t>& batch_sizes,
                       const std::vector<std::int64_t>& seq2seq_batch_sizes) {
  const double started = now_seconds();
  PgmoTimes times{.measuring = measuring};
  Stopwatch stopwatch(measuring);
  for (const std::string& network : networks) {
    for (const std::int64_t size : batch_sizes) {
      times.rows.push_back(stopwatch.images("a", network, Mode::kTraining, size));
    }
  }
  for (const std::string& network : networks) {
    times.rows.push_back(stopwatch.images("b", network, Mode::kInference, 1));
  }
  for (const std::int64_t size : seq2seq_batch_sizes) {
    times.rows.push_back(stopwatch.sentences("c", Mode::kTraining, size));
  }
  times.rows.push_back(stopwatch.sentences("d", Mode::kInference, 1));
  for (const std::string& network : networks) {
    if (auto largest = stopwatch.largest(network)) times.largest.push_back(std::move(*largest));
  }
  times.seconds = now_seconds() - started;
  return times;
}

std::vector<PgmoSection> pgmo_times_sections(const std::optional<PgmoTimes>& times) {
  const char* const title = "time of a step (the paper's figure 3)";
  if (!times) return {{title, {}, "not measured: --measure runs the steps on this machine\n"}};
  const PgmoMeasuring& measuring = times->measuring;
  std::vector<PgmoSection> sections;
  sections.push_back(
      {title, times_table(times->rows),
       fmt::format("measured on the device {}: medians of {} steps less {} of warm-up and the one "
                   "after;\nallocators take turns; a second: images or sentences; speed: those of "
                   "the pool are 1; N/A: does\nnot fit the capacity\n",
                   measuring.device, measuring.steps, measuring.warmup_steps)});
  if (times->largest.empty()) {
    sections.back().note += "largest batches: the capacity is not known, give --capacity\n";
  } else {
    sections.push_back({"training with the largest batch that fits each allocator",
                        times_table(times->largest), ""});
  }
  return sections;
}

Rows<PgmoArmTime> rows(const PgmoArmTime*) {
  return {{"allocator", "its name", &PgmoArmTime::allocator},
          {"batch_size", kCount, "images or sentences", &PgmoArmTime::batch_size},
          {"step_seconds", kSeconds, "median; null: does not fit", &PgmoArmTime::step_seconds},
          {"allocate_ns", kNanoseconds, "of a request, median", &PgmoArmTime::allocate_ns}};
}

Rows<PgmoTime> rows(const PgmoTime*) {
  return {{"panel", "of figure 3", &PgmoTime::panel},
          {"network", "the network", &PgmoTime::network},
          {"mode", "training or inference", [](auto& time) { return pgmo_mode_name(time.mode); }},
          {"allocators", "that took turns", &PgmoTime::arms},
          {"speed", kNumber, "of the first planned allocator in the pool's; null: one does not fit",
           [](auto& time) { return time.speed(); }}};
}

Rows<PgmoTimes> rows(const PgmoTimes*) {
  return {
      {"device", "that ran the steps", [](auto& times) { return times.measuring.device; }},
      {"steps", kCount, "of each run", [](auto& times) { return times.measuring.steps; }},
      {"warmup_steps", kCount, "of them", [](auto& times) { return times.measuring.warmup_steps; }},
      {"capacity", kBytes, "of the device; null: its own",
       [](auto& times) { return times.measuring.capacity_bytes; }},
      {"rows", "all allocators at one batch", &PgmoTimes::rows},
      {"largest", "each allocator at the largest batch that fits", &PgmoTimes::largest},
      {"seconds", kSeconds, "of all runs", &PgmoTimes::seconds}};
}

}  // namespace skyline
