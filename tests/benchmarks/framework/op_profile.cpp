#include "tests/benchmarks/framework/op_profile.h"

#include <fmt/format.h>

#include <algorithm>

#include "train/cli/figures.h"
#include "train/cli/table.h"

namespace skyline {
namespace {

std::string milliseconds(double seconds) { return fmt::format("{:.1f}", 1e3 * seconds); }

// "brgconv:avx512_core, jit:avx512_core". Leaves out implementations for any processor: reorders.
std::string names(const std::set<std::string>& implementations) {
  std::string text;
  for (const std::string& name : implementations) {
    if (name.find("avx") != std::string::npos || name.find("ref") != std::string::npos) {
      text += (text.empty() ? "" : ", ") + name;
    }
  }
  return text.empty() ? "our own" : text;
}

}  // namespace

OpProfile::Row& OpProfile::row(const std::string& label) {
  const auto found =
      std::find_if(rows_.begin(), rows_.end(), [&](const Row& row) { return row.label == label; });
  if (found != rows_.end()) return *found;
  rows_.push_back({.label = label});
  return rows_.back();
}

void OpProfile::add(std::span<const ExecutedOp> ops, std::span<const double> bare_seconds) {
  const bool first = steps_++ == 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Row& into = row(label_(ops[i]));
    into.seconds.resize(steps_);
    into.bare_seconds.resize(steps_);
    into.seconds.back() += ops[i].seconds;
    into.bare_seconds.back() += bare_seconds[i];
    if (!first) continue;
    ++into.calls;
    into.flop += flop(ops.subspan(i, 1));
    into.bytes += static_cast<double>(operand_bytes(ops[i]));
    into.implementations.insert(ops[i].implementations.begin(), ops[i].implementations.end());
  }
}

std::string OpProfile::str(double step_seconds, std::size_t most_rows) const {
  Table table("<op | calls | ms | share | GFLOP/s | GB/s | bare ms | <kernels");
  std::vector<const Row*> rows;
  for (const Row& row : rows_) rows.push_back(&row);
  const auto time = [](const Row& row) { return median(row.seconds).value(); };
  std::sort(rows.begin(), rows.end(),
            [&](const Row* a, const Row* b) { return time(*a) > time(*b); });
  double all = 0, all_bare = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Row& row = *rows[i];
    const double seconds = time(row), bare = median(row.bare_seconds).value();
    all += seconds;
    all_bare += bare;
    if (i >= most_rows) continue;
    table.add_row({row.label, std::to_string(row.calls), milliseconds(seconds),
                   fmt::format("{:.1f} %", 100 * seconds / step_seconds),
                   row.flop > 0 ? fmt::format("{:.0f}", 1e-9 * row.flop / seconds) : "",
                   row.flop > 0 ? "" : fmt::format("{:.1f}", 1e-9 * row.bytes / seconds),
                   milliseconds(bare), names(row.implementations)});
  }
  const double rest = std::max(0.0, step_seconds - all);
  table.add_row({"all ops", "", milliseconds(all),
                 fmt::format("{:.1f} %", 100 * all / step_seconds), "", "", milliseconds(all_bare),
                 ""});
  table.add_row({"beside ops", "", milliseconds(rest),
                 fmt::format("{:.1f} %", 100 * rest / step_seconds), "", "", "",
                 "uploads, graphs"});
  return table.str();
}

}  // namespace skyline
