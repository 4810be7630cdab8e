#include "memory/lanes/conflict_planner.h"

#include <algorithm>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "memory/lanes/antichain.h"
#include "memory/now_seconds.h"
#include "memory/planners/registry.h"
#include "memory/validator.h"

namespace skyline {
namespace {

// Each repair places all blocks anew, in a time that grows with their square. So many pairs are
// compared in less than a second.
constexpr std::size_t kMostRepairs = 64;
constexpr std::size_t kRepairedPairs = std::size_t{1} << 28;

using Sequence = std::vector<std::size_t>;  // blocks, in which they are placed

// Places blocks of given sizes one after another, each in the lowest hole that its conflicts leave.
// Returns their offsets. `order` names every block once. O(blocks²).
std::vector<std::uint64_t> place_in_order(const Conflicts& conflicts,
                                          std::span<const std::uint64_t> bytes,
                                          std::span<const std::size_t> order) {
  struct Placed {
    std::uint64_t begin, end;
    std::size_t block;
  };
  std::vector<Placed> placed;  // by address
  placed.reserve(order.size());
  std::vector<std::uint64_t> offsets(order.size());
  for (const std::size_t block : order) {
    std::uint64_t free = 0;
    for (const Placed& other : placed) {
      if (!conflicts.conflict(block, other.block)) continue;
      if (other.begin >= free + bytes[block]) break;
      free = std::max(free, other.end);
    }
    offsets[block] = free;
    const auto place = std::ranges::upper_bound(placed, free, {}, &Placed::begin);
    placed.insert(place, {free, free + bytes[block], block});
  }
  return offsets;
}

// Returns the highest byte that a block ends at.
std::uint64_t peak_of(std::span<const std::uint64_t> offsets,
                      std::span<const std::uint64_t> bytes) {
  std::uint64_t peak = 0;
  for (std::size_t block = 0; block < offsets.size(); ++block) {
    peak = std::max(peak, offsets[block] + bytes[block]);
  }
  return peak;
}

class ConflictPlanner {
 public:
  ConflictPlanner(const Trace& trace, const Conflicts& conflicts, const PlanOptions& options)
      : trace_(trace), conflicts_(conflicts) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      bytes_.push_back(planned_bytes(trace, i, options.alignment));
      units_.push_back(bytes_.back() / options.alignment);
    }
    best_.alignment = options.alignment;
    best_.lower_bound = lower_bound_bytes(trace, options.alignment);
    best_.proved_bound = heaviest_antichain(conflicts, units_).weight * options.alignment;
    best_.seed = options.seed;
  }

  Plan run(const PlanOptions& options) {
    place_lengthened(options);
    std::vector<Sequence> sequences;
    for (const Key& key : keys()) sequences.push_back(sequence_by(key));
    for (Sequence& sequence : sequences) try_sequence(sequence);
    for (Sequence& sequence : sequences) repair(std::move(sequence), sequences.size());
    best_.proved_optimal = best_.peak == best_.proved_bound;
    return std::move(best_);
  }

 private:
  using Key = std::vector<double>;

  std::size_t size() const { return bytes_.size(); }
  bool is_optimal() const { return best_.peak == best_.proved_bound; }

  // Lengthens every block's life to the last request that it conflicts with: then the ordinary
  // planner can place the blocks.
  void place_lengthened(const PlanOptions& options) {
    Trace lengthened{.blocks = trace_.blocks};
    for (std::size_t late = 0; late < size(); ++late) {
      for (std::size_t early = 0; early < late; ++early) {
        if (!conflicts_.conflict(early, late)) continue;
        Tick& upper = lengthened.blocks[early].upper;
        upper = std::max(upper, trace_.blocks[late].lower + 1);
      }
    }
    Plan placed = plan(lengthened, kDefaultPlanner, options);
    best_.offsets = std::move(placed.offsets);
    best_.peak = placed.peak;
    Key from_below(best_.offsets.begin(), best_.offsets.end());
    for (double& offset : from_below) offset = -offset;
    try_sequence(sequence_by(from_below));
  }

  // By block; the highest is placed first: bytes, bytes × those that it conflicts with, these
  // alone, and the program's sequence.
  std::vector<Key> keys() const {
    Key bytes(bytes_.begin(), bytes_.end()), degree(size()), area(size()), program(size());
    for (std::size_t block = 0; block < size(); ++block) {
      program[block] = -static_cast<double>(block);
      for (std::size_t other = 0; other < size(); ++other) {
        if (conflicts_.conflict(block, other)) degree[block] += bytes[other];
      }
      area[block] = bytes[block] * degree[block];
    }
    return {bytes, area, degree, program};
  }

  Sequence sequence_by(const Key& key) const {
    Sequence sequence(size());
    std::iota(sequence.begin(), sequence.end(), std::size_t{0});
    std::ranges::stable_sort(sequence,
                             [&](std::size_t a, std::size_t b) { return key[a] > key[b]; });
    return sequence;
  }

  // Returns the blocks at the peak of this placement.
  std::vector<std::size_t> try_sequence(const Sequence& sequence) {
    if (is_optimal()) return {};
    std::vector<std::uint64_t> offsets = place_in_order(conflicts_, bytes_, sequence);
    const std::uint64_t peak = peak_of(offsets, bytes_);
    std::vector<std::size_t> highest;
    for (std::size_t block = 0; block < size(); ++block) {
      if (offsets[block] + bytes_[block] == peak) highest.push_back(block);
    }
    if (peak < best_.peak) {
      best_.offsets = std::move(offsets);
      best_.peak = peak;
    }
    return highest;
  }

  // Places the blocks that end at the peak earlier, again and again.
  void repair(Sequence sequence, std::size_t sequences) {
    const std::size_t pairs = std::max<std::size_t>(size() * size() * sequences, 1);
    for (std::size_t k = std::min(kMostRepairs, kRepairedPairs / pairs); k > 0; --k) {
      const std::vector<std::size_t> highest = try_sequence(sequence);
      if (highest.empty()) return;
      for (const std::size_t block : highest) {
        const auto at = std::ranges::find(sequence, block);
        const auto to = sequence.begin() + (at - sequence.begin()) / 2;
        std::rotate(to, at, at + 1);
      }
    }
  }

  const Trace& trace_;
  const Conflicts& conflicts_;
  std::vector<std::uint64_t> bytes_, units_;  // by block, rounded; in bytes, and in alignments
  Plan best_;
};

// Moves blocks of a plan. Every move lets blocks of one colour share more bytes, so moves end.
class ColourMoves {
  auto offset() const {
    return [this](std::size_t block) { return plan_.offsets[block]; };
  }

 public:
  ColourMoves(const Trace& trace, const Conflicts& conflicts,
              std::span<const std::uint32_t> colours, Plan& plan)
      : conflicts_(conflicts), colours_(colours), plan_(plan), by_address_(trace.size()) {
    for (std::size_t block = 0; block < trace.size(); ++block) {
      bytes_.push_back(planned_bytes(trace, block, plan.alignment));
    }
    std::iota(by_address_.begin(), by_address_.end(), std::size_t{0});
    std::ranges::stable_sort(by_address_, {}, offset());
  }

  void run() {
    bool moved = true;
    for (std::size_t pass = 0; moved && pass < kMostPasses; ++pass) {
      moved = false;
      for (std::size_t block = 0; block < bytes_.size(); ++block) moved |= move(block);
    }
    plan_.peak = peak_of(plan_.offsets, bytes_);
  }

 private:
  static constexpr std::size_t kMostPasses = 8;

  // Counts the bytes of blocks below an address, each block's own, in logarithmic time.
  class Below {
   public:
    // Requires blocks by ascending address.
    Below(std::span<const std::size_t> blocks, const std::vector<std::uint64_t>& offsets,
          const std::vector<std::uint64_t>& bytes) {
      for (const std::size_t block : blocks) {
        begins_.push_back(offsets[block]);
        ends_.push_back(offsets[block] + bytes[block]);
      }
      std::ranges::sort(ends_);
      for (auto* of : {&begins_, &ends_}) {
        std::vector<std::uint64_t>& sums = of == &begins_ ? begin_sums_ : end_sums_;
        std::partial_sum(of->begin(), of->end(), std::back_inserter(sums));
      }
    }

    const std::vector<std::uint64_t>& begins() const { return begins_; }
    std::uint64_t bytes(std::uint64_t address) const {
      return sum(ends_, end_sums_, address) - sum(begins_, begin_sums_, address);
    }

   private:
    // The sum of the smaller of each place and the address.
    static std::uint64_t sum(const std::vector<std::uint64_t>& places,
                             const std::vector<std::uint64_t>& sums, std::uint64_t address) {
      const auto below =
          static_cast<std::size_t>(std::ranges::upper_bound(places, address) - places.begin());
      return (below == 0 ? 0 : sums[below - 1]) + (places.size() - below) * address;
    }

    std::vector<std::uint64_t> begins_, ends_, begin_sums_, end_sums_;
  };

  // Tries the begin of each hole that the block's conflicts leave, and those of its friends there:
  // blocks of its colour that it may share bytes with.
  bool move(std::size_t block) {
    std::vector<std::size_t> friends;
    for (const std::size_t other : by_address_) {
      const bool alike = other != block && colours_[other] == colours_[block];
      if (alike && !conflicts_.conflict(block, other)) friends.push_back(other);
    }
    if (friends.empty()) return false;
    const Below below(friends, plan_.offsets, bytes_);
    const auto shared = [&](std::uint64_t place) {
      return below.bytes(place + bytes_[block]) - below.bytes(place);
    };
    const std::uint64_t before = plan_.offsets[block];
    std::uint64_t best = before, most = shared(before), free = 0;
    const auto look = [&](std::uint64_t place) {
      const std::uint64_t sum = shared(place);
      if (sum > most) best = place, most = sum;
    };
    const auto look_below = [&](std::uint64_t end) {
      if (end < free + bytes_[block]) return;
      look(free);
      for (auto begin = std::ranges::upper_bound(below.begins(), free);
           begin != below.begins().end() && *begin + bytes_[block] <= end; ++begin) {
        look(*begin);
      }
    };
    for (const std::size_t other : by_address_) {
      if (!conflicts_.conflict(block, other)) continue;
      look_below(plan_.offsets[other]);
      free = std::max(free, plan_.offsets[other] + bytes_[other]);
    }
    look_below(plan_.peak);
    if (best == before) return false;
    std::erase(by_address_, block);
    plan_.offsets[block] = best;
    by_address_.insert(std::ranges::upper_bound(by_address_, best, {}, offset()), block);
    return true;
  }

  const Conflicts& conflicts_;
  std::span<const std::uint32_t> colours_;
  std::vector<std::uint64_t> bytes_;  // by block, rounded
  Plan& plan_;
  std::vector<std::size_t> by_address_;
};

// Every two blocks that conflict are alive at one tick.
bool are_intervals(const Trace& trace, const Conflicts& conflicts) {
  for (std::size_t late = 0; late < trace.size(); ++late) {
    for (std::size_t early = 0; early < late; ++early) {
      const bool meet = trace.blocks[early].upper > trace.blocks[late].lower;
      if (!meet && conflicts.conflict(early, late)) return false;
    }
  }
  return true;
}

}  // namespace

Plan plan_conflicts(const Trace& trace, const Conflicts& conflicts, const PlanOptions& options,
                    std::string_view name) {
  if (are_intervals(trace, conflicts)) return plan(trace, kDefaultPlanner, options);
  const double started = now_seconds();
  Plan found = ConflictPlanner(trace, conflicts, options).run(options);
  const double planned = now_seconds();
  found.planner = name;
  const Validity verdict = validate(trace, found);
  if (!verdict.valid) throw std::logic_error("invalid plan of lanes: " + verdict.reason);
  found.seconds = planned - started;
  found.validation_seconds = now_seconds() - planned;
  return found;
}

void share_within_colours(const Trace& trace, const Conflicts& conflicts,
                          std::span<const std::uint32_t> colours, Plan& plan) {
  ColourMoves(trace, conflicts, colours, plan).run();
  const Validity verdict = validate(trace, plan);
  if (!verdict.valid) throw std::logic_error("invalid plan of colours: " + verdict.reason);
}

}  // namespace skyline
