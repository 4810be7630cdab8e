#pragma once

#include <cstddef>
#include <cstdint>

namespace skyline {

// A link carries messages between two ranks.
struct RankLink {
  std::uint64_t bytes_per_second = std::uint64_t{10} << 30;
  double message_seconds = 10e-6;  // of each message, whatever its size
};

// The cost of a work of all ranks, for each of them.
struct RankCost {
  double sent_bytes = 0;
  double seconds = 0;
};

// Giving each of N ranks its share of b bytes, from all others or to all others, is one pass: a
// rank sends N - 1 messages of b / N bytes and receives as many meanwhile; one rank sends nothing.
// More bytes cost more.
inline RankCost cost_of_passes(int passes, std::uint64_t bytes, std::size_t ranks,
                               const RankLink& link) {
  const double messages = passes * (static_cast<double>(ranks) - 1);
  const double sent = messages * static_cast<double>(bytes) / static_cast<double>(ranks);
  return {.sent_bytes = sent,
          .seconds =
              messages * link.message_seconds + sent / static_cast<double>(link.bytes_per_second)};
}

// A sum that all ranks get takes two passes.
inline RankCost cost_of_sum(std::uint64_t bytes, std::size_t ranks, const RankLink& link) {
  return cost_of_passes(2, bytes, ranks, link);
}

}  // namespace skyline
