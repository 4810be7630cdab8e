#include "train/lab/order/order_check.h"

#include <fmt/core.h>

#include "memory/order/order_checker.h"
#include "train/cli/byte_sizes.h"

namespace skyline {
namespace {

// Returns what the file claims wrongly, in one sentence; empty if all holds.
std::string fault_of_claims(const OrderCheck& check, const OrderFile& file) {
  const std::uint64_t peak = *check.peak;
  if (file.peak.value_or(peak) != peak) {
    return fmt::format("the file claims peak {}, but it is {}", *file.peak, peak);
  }
  const std::uint64_t least = check.proved.value_or(0);
  if (check.claimed && (*check.claimed < least || *check.claimed > peak)) {
    return fmt::format("the file claims lower bound {}, expected one from {} to {}", *check.claimed,
                       least, peak);
  }
  const bool optimal = check.lower_bound() == peak;
  if (file.proved_optimal.value_or(optimal) != optimal) {
    return fmt::format("the file claims proved_optimal {}, but its peak is {}its lower bound",
                       *file.proved_optimal, optimal ? "" : "not ");
  }
  return {};
}

std::string proof_text(const OrderCheck& check) {
  const std::optional<std::uint64_t> bound = check.lower_bound();
  if (!bound) return "nothing is claimed about other orders";
  const bool by_certificate = check.proved == bound;
  if (bound == check.peak) {
    return by_certificate ? "optimal, proved by the certificate"
                          : "claimed optimal by a search, which was not repeated here";
  }
  return fmt::format("no order is below {}, {}", format_bytes(*bound),
                     by_certificate ? "proved by the certificate"
                                    : "claimed by a search, which was not repeated here");
}

}  // namespace

OrderCheck check_order_file(const GraphFile& graph, const OrderFile& file) {
  const std::uint64_t resident = resident_bytes(graph.graph);
  OrderCheck check{.reason = other_graph_reason(file, graph), .ops = graph.graph.ops.size()};
  if (!check.valid()) return check;
  const OrderVerdict sequence = check_sequence(graph.graph, file.order);
  check.reason = sequence.reason;
  if (!check.valid()) return check;
  check.peak = resident + sequence.peak;
  check.claimed = file.lower_bound;
  if (file.certificate) {
    check.reason = check_certificate(graph.graph, *file.certificate).reason;
    if (!check.valid()) return check;
    check.proved = resident + file.certificate->bytes;
  }
  check.reason = fault_of_claims(check, file);
  return check;
}

Rows<OrderCheck> rows(const OrderCheck*) {
  return {{"valid", "whether the order can run and the file's claims hold", &OrderCheck::valid},
          {"reason", "why not", &OrderCheck::reason},
          {"ops", kCount, "of the graph", &OrderCheck::ops},
          {"peak", kBytes, "the most bytes alive, resident ones included", &OrderCheck::peak},
          {"lower_bound", kBytes, "no order is below, as the file claims",
           [](auto& check) { return check.valid() ? check.lower_bound() : std::nullopt; }},
          {"proved_lower_bound", kBytes, "what the certificate proves",
           [](auto& check) { return check.valid() ? check.proved : std::nullopt; }},
          {"optimal", "the peak is the lower bound",
           [](auto& check) { return check.valid() && check.lower_bound() == check.peak; }},
          {"proved_optimal", "the peak is what the certificate proves",
           [](auto& check) { return check.valid() && check.proved == check.peak; }}};
}

std::string OrderCheck::text() const {
  if (!valid()) return fmt::format("invalid: {}\n", reason);
  return fmt::format("valid: {} ops, peak {} ({} bytes): {}\n", ops, format_bytes(*peak), *peak,
                     proof_text(*this));
}

}  // namespace skyline
