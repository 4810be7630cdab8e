#include "memory/planners/skyline/best_fit.h"

#include <algorithm>

namespace skyline {
namespace {

Plan skyline_by(SortKey key, std::string_view name, const Trace& trace,
                const PlanOptions& options) {
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  Placement placement =
      first_placement(packing, deadline, name, [&](const Deadline& limit, Placement& out) {
        SkylinePacker packer(packing);
        packer.set_deadline(limit);
        return packer.pack(sorted_by(packing, key), kMaxAddress, out, options.log);
      });
  return to_plan(packing, std::move(placement), name, options);
}

// Returns the nested blocks, `longest_first` given.
std::vector<BlockIndex> nested(const Packing& packing,
                               const std::vector<BlockIndex>& longest_first) {
  std::vector<BlockIndex> pyramid;
  for (const BlockIndex block : longest_first) {
    const bool within = pyramid.empty() || (packing.lower[block] >= packing.lower[pyramid.back()] &&
                                            packing.upper[block] <= packing.upper[pyramid.back()]);
    if (within && packing.bytes[block] > 0) pyramid.push_back(block);
  }
  return pyramid;
}

}  // namespace

bool SkylinePacker::pack(const std::vector<BlockIndex>& order, std::uint64_t limit, Placement& out,
                         BestFitLog* log, std::span<const BlockIndex> pyramid) {
  tree_.reset(order);
  out.offsets.resize(order.size());
  out.peak = 0;
  if (!place_pyramid(pyramid, limit, out)) return false;
  start(order.size(), out, pyramid);
  std::vector<BlockIndex> unplaced;  // for the log
  if (log != nullptr) {
    log->clear();
    unplaced = order;
  }
  for (std::size_t left = order.size() - pyramid.size(); left > 0;) {
    const LineIndex line = lowest_line();
    const std::uint64_t offset = lines_[line].offset;
    note(log, BestFitEvent::Kind::kChoice, lines_[line]);
    if (log != nullptr) give_reasons(log->back(), line, unplaced);
    const BlockTree::Rank rank = tree_.find(lines_[line].lower, lines_[line].upper);
    if (rank == BlockTree::kNone) {
      const LineIndex merged = lift(line);
      note(log, BestFitEvent::Kind::kLift, lines_[merged]);
      if (log != nullptr) log->back().offset = offset;
      continue;
    }
    const BlockIndex block = order[rank];
    const std::uint64_t begin = packing_.aligned(offset, block);
    if (begin > limit || packing_.bytes[block] > limit - begin) return false;
    const std::uint64_t top = begin + packing_.bytes[block];
    if (left % kPlacementsPerClock == 0 && passed(deadline_)) return false;
    tree_.take(block);
    if (top == offset) {
      lowest_.push_back(line);  // the block has no bytes
    } else {
      split(line, block, top);
    }
    out.offsets[block] = begin;
    out.peak = std::max(out.peak, top);
    --left;
    if (log == nullptr) continue;
    std::erase(unplaced, block);
    log->push_back({.kind = BestFitEvent::Kind::kPlacement,
                    .lower = packing_.ticks[static_cast<std::size_t>(packing_.lower[block])],
                    .upper = packing_.ticks[static_cast<std::size_t>(packing_.upper[block])],
                    .offset = begin,
                    .raised_offset = top,
                    .block = block});
  }
  return true;
}

bool SkylinePacker::place_pyramid(std::span<const BlockIndex> pyramid, std::uint64_t limit,
                                  Placement& out) {
  for (const BlockIndex block : pyramid) {
    const std::uint64_t begin = packing_.aligned(out.peak, block);
    if (begin > limit || packing_.bytes[block] > limit - begin) return false;
    out.offsets[block] = begin;
    out.peak = begin + packing_.bytes[block];
    tree_.take(block);
  }
  return true;
}

// The skyline of a pyramid: steps up to its top, then down.
void SkylinePacker::start(std::size_t blocks, const Placement& placed,
                          std::span<const BlockIndex> pyramid) {
  lines_.clear();
  unused_.clear();
  queue_.clear();
  lowest_.clear();
  if (blocks == 0) return;
  const auto last = static_cast<std::int32_t>(packing_.ticks.size() - 1);
  lines_.push_back({0, last, 0, kNoLine, kNoLine});
  LineIndex top = 0;
  for (const BlockIndex block : pyramid) {
    const Line whole = lines_[top];
    const std::int32_t lower = packing_.lower[block], upper = packing_.upper[block];
    if (whole.lower < lower) {
      lines_[top].upper = lower;
      top = add_line_after(top, {lower, whole.upper, 0, kNoLine, kNoLine});
    }
    if (upper < whole.upper) {
      add_line_after(top, {upper, whole.upper, whole.offset, kNoLine, kNoLine});
    }
    lines_[top].upper = upper;
    lines_[top].offset = placed.offsets[block] + packing_.bytes[block];
  }
  for (LineIndex line = 0; line < lines_.size(); ++line) queue(line);
}

void SkylinePacker::queue(LineIndex line) {
  queue_.push_back({lines_[line].offset, lines_[line].lower, line});
  std::push_heap(queue_.begin(), queue_.end(), [](const Queued& a, const Queued& b) {
    return a.offset != b.offset ? a.offset > b.offset : a.lower > b.lower;
  });
}

SkylinePacker::LineIndex SkylinePacker::lowest_line() {
  if (!lowest_.empty()) {
    const LineIndex line = lowest_.back();
    lowest_.pop_back();
    return line;
  }
  while (true) {
    std::pop_heap(queue_.begin(), queue_.end(), [](const Queued& a, const Queued& b) {
      return a.offset != b.offset ? a.offset > b.offset : a.lower > b.lower;
    });
    const Queued next = queue_.back();
    queue_.pop_back();
    const Line& line = lines_[next.line];
    if (line.offset == next.offset && line.lower == next.lower) return next.line;
  }
}

SkylinePacker::LineIndex SkylinePacker::add_line_after(LineIndex before, const Line& line) {
  LineIndex index = static_cast<LineIndex>(lines_.size());
  if (unused_.empty()) {
    lines_.push_back(line);
  } else {
    index = unused_.back();
    unused_.pop_back();
    lines_[index] = line;
  }
  lines_[index].before = before;
  lines_[index].after = lines_[before].after;
  if (lines_[index].after != kNoLine) lines_[lines_[index].after].before = index;
  lines_[before].after = index;
  return index;
}

void SkylinePacker::remove_line(LineIndex line) {
  const Line& gone = lines_[line];
  if (gone.before != kNoLine) lines_[gone.before].after = gone.after;
  if (gone.after != kNoLine) lines_[gone.after].before = gone.before;
  lines_[line].offset = kRemoved;
  unused_.push_back(line);
}

// The line keeps its leftmost part; the rest becomes new lines. What stays at the line's offset is
// still lowest and leftmost, so it need not be queued.
void SkylinePacker::split(LineIndex line, BlockIndex block, std::uint64_t top) {
  const Line whole = lines_[line];
  const std::int32_t lower = packing_.lower[block];
  const std::int32_t upper = packing_.upper[block];
  LineIndex raised = line;
  if (whole.lower < lower) {
    lines_[line].upper = lower;
    raised = add_line_after(line, {lower, upper, top, kNoLine, kNoLine});
  } else {
    lines_[line].upper = upper;
    lines_[line].offset = top;
  }
  queue(raised);
  if (upper < whole.upper) {
    lowest_.push_back(add_line_after(raised, {upper, whole.upper, whole.offset, kNoLine, kNoLine}));
  }
  if (whole.lower < lower) lowest_.push_back(line);
}

// A line over all ticks fits every remaining block, so a line without a fit has a neighbour.
SkylinePacker::LineIndex SkylinePacker::lift(LineIndex line) {
  const Line low = lines_[line];
  const bool has_before = low.before != kNoLine;
  const bool has_after = low.after != kNoLine;
  const bool to_before =
      has_before && (!has_after || lines_[low.before].offset <= lines_[low.after].offset);
  const bool to_after =
      has_after && (!has_before || lines_[low.after].offset <= lines_[low.before].offset);
  remove_line(line);
  if (!to_before) {
    lines_[low.after].lower = low.lower;
    queue(low.after);
    return low.after;
  }
  lines_[low.before].upper = low.upper;
  if (to_after) {
    lines_[low.before].upper = lines_[low.after].upper;
    remove_line(low.after);
  }
  return low.before;  // still queued: offset and lower tick are unchanged
}

void SkylinePacker::note(BestFitLog* log, BestFitEvent::Kind kind, const Line& line) const {
  if (log == nullptr) return;
  log->push_back({.kind = kind,
                  .lower = packing_.ticks[static_cast<std::size_t>(line.lower)],
                  .upper = packing_.ticks[static_cast<std::size_t>(line.upper)],
                  .offset = line.offset,
                  .raised_offset = kind == BestFitEvent::Kind::kLift ? line.offset : 0});
}

void SkylinePacker::give_reasons(BestFitEvent& choice, LineIndex line,
                                 std::span<const BlockIndex> unplaced) const {
  const Line& chosen = lines_[line];  // the leftmost of equals
  for (LineIndex at = line; at != kNoLine; at = lines_[at].after) {
    if (lines_[at].offset == chosen.offset) ++choice.equally_low;
  }
  for (const BlockIndex block : unplaced) {
    if (packing_.lower[block] < chosen.lower || packing_.upper[block] > chosen.upper) continue;
    if (++choice.candidates == 2) choice.runner_up = block;
  }
}

Plan best_fit(const Trace& trace, const PlanOptions& options) {
  return skyline_by(SortKey::kLifetime, "best-fit", trace, options);
}

Plan best_fit_by_size(const Trace& trace, const PlanOptions& options) {
  return skyline_by(SortKey::kSize, "best-fit-by-size", trace, options);
}

Plan best_fit_by_area(const Trace& trace, const PlanOptions& options) {
  return skyline_by(SortKey::kArea, "best-fit-by-area", trace, options);
}

Plan pyramid(const Trace& trace, const PlanOptions& options) {
  constexpr std::string_view kName = "pyramid";
  const Deadline deadline = deadline_in(options.time_limit_seconds, options.stop);
  const Packing packing(trace, options.alignment);
  const std::vector<BlockIndex> order = sorted_by(packing, SortKey::kLifetime);
  const std::vector<BlockIndex> blocks = nested(packing, order);
  Placement placement =
      first_placement(packing, deadline, kName, [&](const Deadline& limit, Placement& out) {
        SkylinePacker packer(packing);
        packer.set_deadline(limit);
        return packer.pack(order, kMaxAddress, out, nullptr, blocks);
      });
  Plan plan = to_plan(packing, std::move(placement), kName, options);
  if (!plan.out_of_time) plan.preplaced_blocks = blocks.size();
  return plan;
}

}  // namespace skyline
