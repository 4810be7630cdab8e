#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>

namespace skyline {

// The fault of a trace or a plan, and its place.
struct TraceErrorFacts {
  std::string source = {};   // file name, "standard input", or the function that checked
  std::size_t line = 0;      // 1-based, where the record begins; 0: not about a line
  std::string field = {};    // column name; empty: about the whole line or source
  std::string problem = {};  // e.g. `got "x", expected a whole number from 0 to 9`
};

// Thrown for a trace, a plan or a CSV of one that cannot be used. The message reads
// `plan.csv line 7, field size: got "x", expected a whole number from 0 to 9223372036854775807`.
class TraceError : public std::runtime_error {
 public:
  explicit TraceError(TraceErrorFacts facts);
  const TraceErrorFacts& facts() const noexcept { return facts_; }

 private:
  TraceErrorFacts facts_;
};

// Text that a terminal may show: '?' stands for control characters and bytes that are not UTF-8.
std::string shown_text(std::string_view text);
// Text as errors quote it, `got "…"`: so shown, and shortened.
std::string shown_cell(std::string_view text);

// The fault of a step graph, or of an order of one, and its place.
struct GraphErrorFacts {
  std::string source = {};   // file name, or the function that checked
  std::string op = {};       // e.g. "op 3 (conv)"; empty: about the whole graph
  std::string problem = {};  // e.g. "reads value 7, which no op writes"
};

// Thrown for a step graph that cannot be ordered, or an order of another graph. The message reads
// `graph.json op 3 (conv): reads value 7, which no op writes`.
class GraphError : public std::runtime_error {
 public:
  explicit GraphError(GraphErrorFacts facts);
  const GraphErrorFacts& facts() const noexcept { return facts_; }

 private:
  GraphErrorFacts facts_;
};

// Thrown for a plan that does not fit the trace at hand. The message names the block.
class PlanMismatch : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace skyline
