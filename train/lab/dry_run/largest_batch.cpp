#include "train/lab/dry_run/largest_batch.h"

#include <algorithm>
#include <map>
#include <utility>

namespace skyline {
std::int64_t largest_where(std::int64_t low, std::int64_t high, std::int64_t guess,
                           const std::function<bool(std::int64_t)>& holds) {
  std::int64_t probe = std::clamp(guess, low + 1, std::max(high, low + 1));
  for (std::int64_t stride = 1; low < high; stride *= 2) {
    const bool held = holds(probe);
    (held ? low : high) = held ? probe : probe - 1;
    const std::int64_t away = std::min(stride, (high - low + 1) / 2);
    probe = held ? low + away : high + 1 - away;
  }
  return low;
}

namespace {

class Search {
 public:
  Search(const DryRunOptions& options, std::uint64_t capacity_bytes)
      : program_(make_dry_run(options)), mode_(options.mode), capacity_bytes_(capacity_bytes) {}

  std::int64_t sizes_run() const { return std::ssize(steps_); }

  std::int64_t ceiling() {
    return largest_where(0, kMostImages, guessed_ceiling(), [this](std::int64_t size) {
      return step(size).run.most_bytes(1) <= capacity_bytes_;
    });
  }

  LargestBatch largest(const ReplayChoice& choice, std::int64_t ceiling) {
    const auto serves = [&](std::int64_t size) { return use(choice, size, capacity_bytes_).fits; };
    LargestBatch found{.allocator = choice.allocator};
    if (ceiling == 0) return found;
    found.batch_size = largest_where(0, ceiling, guess(choice, ceiling), serves);
    // It reuses nothing inside a step, so its memory never shrinks as the batch grows.
    if (choice.allocator == "network-wise") return found;
    // Fragmentation may have refused a size below one that fits, so try larger sizes too.
    const bool few = ceiling - found.batch_size <= kFewSizes;
    const std::int64_t stride = few ? 1 : (ceiling + kGridSizes - 1) / kGridSizes;
    for (std::int64_t size = ceiling; size > found.batch_size; size -= stride) {
      if (serves(size)) found.batch_size = largest_where(size, ceiling, size + 1, serves);
    }
    found.proved = (few || found.batch_size == ceiling) && ceiling < kMostImages;
    return found;
  }

 private:
  struct Step {
    RecordedRun run;
    Trace trace;
  };

  const Step& step(std::int64_t size) {
    const auto found = steps_.find(size);
    if (found != steps_.end()) return found->second;
    program_.forget_orders();
    DryRunFacts facts = program_.foresee(size, mode_);
    return steps_[size] = {std::move(facts.run), std::move(facts.trace)};
  }

  AllocatorUse use(ReplayChoice choice, std::int64_t size, std::optional<std::uint64_t> capacity) {
    choice.capacity_bytes = capacity;
    const Step& tried = step(size);
    return replay_run(tried.run, tried.trace, choice);
  }

  // Returns the size at which memory reaches the capacity, if it grows linearly from (size, bytes).
  std::int64_t crossing(std::int64_t size, double bytes, double bytes_an_image) const {
    const double images = (static_cast<double>(capacity_bytes_) - bytes) / bytes_an_image;
    const double most = static_cast<double>(kMostImages);
    return bytes_an_image > 0 ? size + static_cast<std::int64_t>(std::clamp(images, -most, most))
                              : kMostImages;
  }

  std::int64_t guessed_ceiling() {
    const auto bytes = [this](std::int64_t size) {
      return static_cast<double>(step(size).run.most_bytes(1));
    };
    std::int64_t last = kFew, guess = 2 * kFew;
    for (int line = 0; line < kLines && guess != last && guess > 0; ++line) {
      const double slope = (bytes(guess) - bytes(last)) / static_cast<double>(guess - last);
      last = std::exchange(guess, std::min(crossing(guess, bytes(guess), slope), kMostImages));
    }
    return guess;
  }

  std::int64_t guess(const ReplayChoice& choice, std::int64_t ceiling) {
    const auto bytes = static_cast<double>(use(choice, ceiling, {}).peak_reserved_bytes);
    const auto resident = static_cast<double>(step(ceiling).run.resident_bytes(kAlignmentBytes));
    return crossing(ceiling, bytes, (bytes - resident) / static_cast<double>(ceiling));
  }

  // Large enough that the fullest tick is the same as for large batches.
  static constexpr std::int64_t kFew = 16;
  // Lines drawn through two sizes. The second is needed where memory does not grow evenly: a text's
  // parameters fill a step of few sentences.
  static constexpr int kLines = 3;

  DryRun program_;
  Mode mode_;
  std::uint64_t capacity_bytes_;
  std::map<std::int64_t, Step> steps_;  // by batch size
};

}  // namespace

LargestBatches largest_batches(DryRunOptions options, std::uint64_t capacity_bytes,
                               const std::vector<ReplayChoice>& choices) {
  options.prefetch = false;
  Search search(options, capacity_bytes);
  LargestBatches found{.ceiling = search.ceiling()};
  found.at_limit = found.ceiling == kMostImages;
  for (const ReplayChoice& choice : choices) {
    found.allocators.push_back(search.largest(choice, found.ceiling));
  }
  found.sizes_run = search.sizes_run();
  return found;
}

}  // namespace skyline
