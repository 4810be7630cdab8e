#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "framework/ranks/rank_transport.h"

namespace skyline {

// Floats that lie in several places, as one sequence.
using Pieces = std::vector<std::span<float>>;

std::size_t size_of(const Pieces& pieces);

// Elements [first, last) of the sequence, in pieces of at most 256 MiB.
Pieces cut(const Pieces& pieces, std::size_t first, std::size_t last);

// The first element of rank `rank`'s share of `size` elements; that of rank `ranks` is `size`.
std::size_t share_begin(std::size_t size, std::size_t rank, std::size_t ranks);

// One rank's part of a sum over ranks: values of the same sizes on each, which become the sum.
struct RankAddends {
  Pieces values;
  std::span<float> received;  // scratch of RankSum::received_floats() elements
};

// The requests of one exchange, until all are done.
class OpenRequests {
 public:
  void add(RankTransport::Request request) { open_.push_back(request); }
  // Asks for news. Returns true if none is open.
  bool finished(RankTransport& transport);

 private:
  std::vector<RankTransport::Request> open_;
};

// Adds the values of all ranks in the order of ranks: ((v0 + v1) + v2) + …, so the bits
// depend on neither speed nor placement. Each rank receives the others' values of its share of the
// elements, adds them, and sends the sums to the others: no float is copied except by the
// transport.
class RankSum {
 public:
  // Returns how many elements RankAddends::received needs for `size` values on so many ranks.
  static std::size_t received_floats(std::size_t size, std::size_t ranks);

  // Messages have the tag `tag`; two sums of one tag must not overlap.
  RankSum(RankAddends addends, int tag);

  // Does what can be done at once. Returns true when the sum is done.
  bool advance(RankTransport& transport);

 private:
  enum class Phase { kNew, kScatter, kGather };

  void scatter(RankTransport& transport);
  // The values that `rank` adds.
  Pieces share_of(std::size_t rank, std::size_t ranks) const;
  void add(std::size_t rank, std::size_t ranks);
  void gather(RankTransport& transport);

  RankAddends addends_;
  int tag_;
  Phase phase_ = Phase::kNew;
  OpenRequests requests_;
};

}  // namespace skyline
