#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline {

// A link carries messages between two ranks.
struct RankLink {
  std::uint64_t bytes_per_second = std::uint64_t{10} << 30;
  double message_seconds = 10e-6;  // of each message, whatever its size
};

// What a sum over ranks costs each of them.
struct SumCost {
  double sent_bytes = 0;
  double seconds = 0;
};

// On N ranks, a sum of b bytes sends 2 (N - 1) messages of b / N bytes to the others and receives
// as many meanwhile; one rank sends nothing. A greater sum costs more.
inline SumCost cost_of_sum(std::uint64_t bytes, std::size_t ranks, const RankLink& link) {
  const double messages = 2 * (static_cast<double>(ranks) - 1);
  const double sent = messages * static_cast<double>(bytes) / static_cast<double>(ranks);
  return {.sent_bytes = sent,
          .seconds =
              messages * link.message_seconds + sent / static_cast<double>(link.bytes_per_second)};
}

}  // namespace skyline
