#include "memory/planners/search.h"

#include <algorithm>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "memory/planners/holes/hole_packer.h"

namespace skyline {
namespace {

// A few dozen passes over a few hundred blocks: measured at about 5 ms at any number of blocks.
constexpr std::uint64_t kPlacements = 1 << 14;

}  // namespace

Deadline deadline_in(std::optional<double> seconds, const std::stop_source* stop) {
  Deadline deadline{.stop = stop};
  if (!seconds) return deadline;
  constexpr double kYear = 3.2e7;  // a longer limit would overflow the clock
  deadline.time =
      SearchClock::now() + std::chrono::duration_cast<SearchClock::duration>(
                               std::chrono::duration<double>(std::clamp(*seconds, 0.0, kYear)));
  return deadline;
}

std::optional<double> Deadline::seconds_left() const {
  if (!time) return {};
  return std::chrono::duration<double>(*time - SearchClock::now()).count();
}

Deadline Deadline::part(double share) const {
  const std::optional<double> seconds = seconds_left();
  return deadline_in(seconds ? std::optional(share * *seconds) : seconds, stop);
}

SearchBudget::SearchBudget(const Packing& packing, const PlanOptions& options, const Deadline& end)
    : good_enough_bytes(std::max(packing.proved_bound, options.capacity.value_or(0))),
      capacity(options.capacity),
      placements(kPlacements),
      deadline(end),
      threads(std::max(options.threads, 1)) {}

Deadline first_deadline(const Packing& packing, const Deadline& deadline) {
  return packing.size() <= kFewBlocks ? Deadline() : deadline;
}

std::optional<Placement> fallback_placement(const Packing& packing, const Deadline& limit) {
  if (!limit.may_pass()) return std::nullopt;
  Placement placement{.offsets = {}, .peak = 0, .out_of_time = true};
  if (!place_by_sweep(packing, placement)) return std::nullopt;
  return placement;
}

Placement first_placement(const Packing& packing, const Deadline& deadline, std::string_view name,
                          const PlannerPass& pass) {
  const Deadline limit = first_deadline(packing, deadline);
  std::optional<Placement> fallback = fallback_placement(packing, limit);
  Placement placement;
  if (!passed(limit) && pass(limit, placement)) return placement;
  require_addressable(fallback && passed(limit), name);
  return *std::move(fallback);
}

void run_workers(int workers, const std::function<void(int)>& work) {
  if (workers <= 1) return work(0);
  std::vector<std::exception_ptr> errors(static_cast<std::size_t>(workers));
  const auto guarded = [&](int worker) {
    try {
      work(worker);
    } catch (...) {
      errors[static_cast<std::size_t>(worker)] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    threads.reserve(errors.size() - 1);
    int worker = 1;
    try {
      for (; worker < workers; ++worker) threads.emplace_back(guarded, worker);
    } catch (const std::system_error&) {
      // No room for another stack: this thread does the work of those that are missing.
    }
    guarded(0);
    for (; worker < workers; ++worker) guarded(worker);
  }
  for (const std::exception_ptr& error : errors) {
    if (error) std::rethrow_exception(error);
  }
}

std::optional<std::uint64_t> Race::next() {
  const std::lock_guard lock(mutex_);
  // Numbers are handed out in order, so all attempts below the winner's have begun.
  if (begun_ == attempts_ || !winning_peak_unlocked(begun_ + 1)) return {};
  return ++begun_;
}

std::optional<std::uint64_t> Race::winning_peak(std::uint64_t attempt) const {
  const std::lock_guard lock(mutex_);
  return winning_peak_unlocked(attempt);
}

std::optional<std::uint64_t> Race::winning_peak_unlocked(std::uint64_t attempt) const {
  const std::uint64_t leading = std::max(best_.peak, good_enough_bytes_);
  if (attempt < winner_) return leading;
  if (leading == good_enough_bytes_) return {};
  return leading - 1;
}

void Race::offer(std::uint64_t attempt, Placement& placement) {
  const std::lock_guard lock(mutex_);
  const std::optional<std::uint64_t> wins = winning_peak_unlocked(attempt);
  if (!wins || placement.peak > *wins) return;
  std::swap(best_, placement);
  winner_ = attempt;
}

}  // namespace skyline
