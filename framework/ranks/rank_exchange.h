#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "framework/ranks/rank_place.h"
#include "framework/ranks/rank_transport.h"

namespace skyline {

// Floats that lie in several places, as one sequence.
using Pieces = std::vector<std::span<float>>;

std::size_t size_of(const Pieces& pieces);

// Elements [first, last) of the sequence, in pieces of at most 256 MiB.
Pieces cut(const Pieces& pieces, std::size_t first, std::size_t last);

// The first element of rank `rank`'s share of `size` elements; that of rank `ranks` is `size`.
// Shares are equal, except for the last ones.
std::size_t share_begin(std::size_t size, std::size_t rank, std::size_t ranks);

// The elements of a tensor of `size` elements that one rank updates under sharding. They begin at a
// multiple of 64, as vectors of floats want it.
struct RankShare {
  std::size_t begin = 0, end = 0;
  std::size_t size() const noexcept { return end - begin; }
};
RankShare share_of_tensor(std::size_t size, const RankPlace& place);
// The elements of the largest share, at least 1.
std::size_t largest_share_of_tensor(std::size_t size, std::size_t ranks);

// The works that ranks do together with values of the same sizes on each.
enum class RankWork : char {
  kSum,           // every value becomes its sum, added in the order of ranks
  kSumShares,     // each rank's share of every tensor becomes its sum; the rest stays as it is
  kGatherShares,  // every value becomes that of the rank whose share it is in
  kFastSum,       // every value becomes its sum, added as the transport likes
};

// One rank's part of it.
struct RankValues {
  RankWork work = RankWork::kSum;
  Pieces tensors;
  std::span<float> received;  // scratch of RankExchange::received_floats() elements
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

// The values of a rank's share, which it adds or gives to the others.
Pieces share_of(const RankValues& values, const RankPlace& place);

// Does one work of all ranks. Sums are ((v0 + v1) + v2) + …, except fast ones, so the bits depend
// on neither speed nor placement: each rank receives the others' values of its share of the
// elements, adds them, and sends the sums to the others. No float is copied except by the
// transport.
class RankExchange {
 public:
  // Returns how many elements RankValues::received needs for tensors of `sizes` on so many ranks.
  static std::size_t received_floats(RankWork work, std::span<const std::size_t> sizes,
                                     std::size_t ranks);

  // Messages have the tag `tag`; two exchanges of one tag must not overlap.
  RankExchange(RankValues values, int tag);

  // Does what can be done at once. Returns true when the work is done.
  bool advance(RankTransport& transport);

 private:
  enum class Phase { kNew, kScatter, kLast };

  void begin(RankTransport& transport);
  void scatter(RankTransport& transport);
  void add(std::size_t rank, std::size_t ranks);
  void gather(RankTransport& transport);

  RankValues values_;
  int tag_;
  Phase phase_ = Phase::kNew;
  OpenRequests requests_;
};

}  // namespace skyline
