#include "train/lab/olla/figures.h"

#include <fmt/format.h>

#include <sstream>

#include "memory/allocators/allocators.h"
#include "memory/device/out_of_memory.h"
#include "memory/device/simulated_device.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/planners/registry.h"
#include "memory/replay/trace_replay.h"
#include "train/cli/byte_sizes.h"
#include "train/lab/olla/olla.h"

namespace skyline {
namespace {

constexpr std::uint64_t kCapacity = 8192;

// Returns why `bfc` refuses a request of the trace; empty if it serves all.
std::string refusal_by_bfc(const Trace& trace) {
  SimulatedDevice device(kCapacity);
  const auto bfc = make_allocator("bfc", device);
  try {
    replay_trace(trace, *bfc);
  } catch (const OutOfMemory& refused) {
    return std::string(shortage_name(refused.facts().shortage));
  }
  return {};
}

FragmentationFigure fragmentation_figure() {
  std::istringstream in{std::string(olla_figure_4())};
  FragmentationFigure figure{.trace = read_trace_csv(in, "figure 4"), .capacity = kCapacity};
  figure.as_requested = plan(figure.trace, "program-order", {.alignment = 1});
  figure.plan = plan(figure.trace, kDefaultPlanner, {.alignment = 1});
  figure.refusal = refusal_by_bfc(figure.trace);
  return figure;
}

double megabytes(std::uint64_t bytes) { return static_cast<double>(bytes) / 1e6; }

}  // namespace

Rows<TraceBlock> rows(const TraceBlock*) {
  return {{"lower", kNumber, "the first tick of its life", &TraceBlock::lower},
          {"upper", kNumber, "the tick after its life", &TraceBlock::upper},
          {"bytes", kBytes, "of the block", &TraceBlock::bytes}};
}

Rows<FragmentationFigure> rows(const FragmentationFigure*) {
  return {{"capacity", kBytes, "of the memory", &FragmentationFigure::capacity},
          {"blocks", "A, B and C", [](auto& figure) { return figure.trace.blocks; }},
          {"as_requested", "offsets in holes when blocks are requested",
           [](auto& figure) { return figure.as_requested.offsets; }},
          {"planned", "offsets of the plan", [](auto& figure) { return figure.plan.offsets; }},
          {"refusal", "why bfc refuses a request", &FragmentationFigure::refusal}};
}

std::string OllaFigures::text() const {
  return fmt::format(
      "figure 3: {:g} -> {:g} MB by order{}\n"
      "figure 4: of {}, bfc refuses a request: {}; a plan fits into {}\n",
      megabytes(order.program), megabytes(order.peak()),
      order.answer.proved_optimal ? ", proved: no order needs less" : "",
      format_bytes(fragmentation.capacity), fragmentation.refusal,
      format_bytes(fragmentation.plan.peak));
}

OllaFigures olla_figures() {
  std::istringstream in{std::string(olla_figure_3())};
  return {.order = answer({.file = read_graph(in, "figure 3")}),
          .fragmentation = fragmentation_figure()};
}

}  // namespace skyline
