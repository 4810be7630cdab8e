#include "framework/ranks/rank_exchange.h"

#include <algorithm>
#include <array>
#include <utility>

namespace skyline {
namespace {

constexpr std::size_t kMostFloats = std::size_t{1} << 26;  // of a message
constexpr std::size_t kBlock = 1024;                       // floats that are added at a time
constexpr std::size_t kShareUnit = 64;                     // floats

std::size_t largest_share(std::size_t size, std::size_t ranks) {
  return (size + ranks - 1) / ranks;
}

}  // namespace

std::size_t size_of(const Pieces& pieces) {
  std::size_t size = 0;
  for (const std::span<float> piece : pieces) size += piece.size();
  return size;
}

Pieces cut(const Pieces& pieces, std::size_t first, std::size_t last) {
  Pieces result;
  std::size_t begin = 0;  // of the piece, in the sequence
  for (const std::span<float> piece : pieces) {
    const std::size_t end = begin + piece.size();
    for (std::size_t at = std::max(begin, first); at < std::min(end, last);) {
      const std::size_t stop = std::min({end, last, at + kMostFloats});
      result.push_back(piece.subspan(at - begin, stop - at));
      at = stop;
    }
    begin = end;
  }
  return result;
}

std::size_t share_begin(std::size_t size, std::size_t rank, std::size_t ranks) {
  return std::min(size, rank * largest_share(size, ranks));
}

bool OpenRequests::finished(RankTransport& transport) {
  std::erase_if(open_, [&](RankTransport::Request request) { return transport.done(request); });
  return open_.empty();
}

RankShare share_of_tensor(std::size_t size, const RankPlace& place) {
  const std::size_t units = (size + kShareUnit - 1) / kShareUnit;
  const auto at = [&](std::size_t rank) {
    return std::min(size, share_begin(units, rank, place.ranks) * kShareUnit);
  };
  return {at(place.rank), at(place.rank + 1)};
}

std::size_t largest_share_of_tensor(std::size_t size, std::size_t ranks) {
  return std::max<std::size_t>(share_of_tensor(size, {.rank = 0, .ranks = ranks}).size(), 1);
}

std::size_t RankExchange::received_floats(RankWork work, std::span<const std::size_t> sizes,
                                          std::size_t ranks) {
  if (work != RankWork::kSum && work != RankWork::kSumShares) return 0;
  std::size_t all = 0, shares = 0;
  for (const std::size_t size : sizes) {
    all += size;
    shares += share_of_tensor(size, {.rank = 0, .ranks = ranks}).size();
  }
  return (ranks - 1) * (work == RankWork::kSum ? largest_share(all, ranks) : shares);
}

Pieces share_of(const RankValues& values, const RankPlace& place) {
  if (values.work == RankWork::kSum) {
    const std::size_t size = size_of(values.tensors);
    return cut(values.tensors, share_begin(size, place.rank, place.ranks),
               share_begin(size, place.rank + 1, place.ranks));
  }
  Pieces shares;
  for (const std::span<float> tensor : values.tensors) {
    const RankShare share = share_of_tensor(tensor.size(), place);
    for (const std::span<float> piece : cut({tensor}, share.begin, share.end)) {
      shares.push_back(piece);
    }
  }
  return shares;
}

RankExchange::RankExchange(RankValues values, int tag) : values_(std::move(values)), tag_(tag) {}

bool RankExchange::advance(RankTransport& transport) {
  if (phase_ == Phase::kNew) begin(transport);
  if (!requests_.finished(transport)) return false;
  if (phase_ == Phase::kLast) return true;
  add(transport.rank(), transport.ranks());
  phase_ = Phase::kLast;
  if (values_.work == RankWork::kSum) gather(transport);
  return requests_.finished(transport);
}

void RankExchange::begin(RankTransport& transport) {
  switch (values_.work) {
    case RankWork::kSum:
    case RankWork::kSumShares:
      phase_ = Phase::kScatter;
      return scatter(transport);
    case RankWork::kGatherShares:
      phase_ = Phase::kLast;
      return gather(transport);
    case RankWork::kFastSum:
      phase_ = Phase::kLast;
      for (const std::span<float> piece : cut(values_.tensors, 0, size_of(values_.tensors))) {
        requests_.add(transport.sum(piece));
      }
  }
}

void RankExchange::scatter(RankTransport& transport) {
  const Pieces own = share_of(values_, {.rank = transport.rank(), .ranks = transport.ranks()});
  std::size_t received = 0;
  for (std::size_t other = 0; other < transport.ranks(); ++other) {
    if (other == transport.rank()) continue;
    for (const std::span<float> piece : own) {
      const std::span<float> to = values_.received.subspan(received, piece.size());
      requests_.add(transport.receive(other, tag_, std::as_writable_bytes(to)));
      received += piece.size();
    }
    for (const std::span<float> piece :
         share_of(values_, {.rank = other, .ranks = transport.ranks()})) {
      requests_.add(transport.send(other, tag_, std::as_bytes(piece)));
    }
  }
}

// Adds in blocks that stay in the cache, because the sum takes the place of this rank's values.
void RankExchange::add(std::size_t rank, std::size_t ranks) {
  const Pieces own = share_of(values_, {.rank = rank, .ranks = ranks});
  const std::size_t size = size_of(own);
  std::array<float, kBlock> sum;
  std::size_t done = 0;  // elements of the share
  for (const std::span<float> piece : own) {
    for (std::size_t at = 0; at < piece.size(); at += kBlock) {
      const std::size_t count = std::min(kBlock, piece.size() - at);
      for (std::size_t other = 0; other < ranks; ++other) {
        const std::size_t place = other < rank ? other : other - 1;
        const float* addend =
            other == rank ? piece.data() + at : values_.received.data() + place * size + done + at;
        if (other == 0) {
          std::copy_n(addend, count, sum.data());
        } else {
          for (std::size_t i = 0; i < count; ++i) sum[i] += addend[i];
        }
      }
      std::copy_n(sum.data(), count, piece.data() + at);
    }
    done += piece.size();
  }
}

void RankExchange::gather(RankTransport& transport) {
  const Pieces own = share_of(values_, {.rank = transport.rank(), .ranks = transport.ranks()});
  for (std::size_t other = 0; other < transport.ranks(); ++other) {
    if (other == transport.rank()) continue;
    for (const std::span<float> piece : own) {
      requests_.add(transport.send(other, tag_, std::as_bytes(piece)));
    }
    for (const std::span<float> piece :
         share_of(values_, {.rank = other, .ranks = transport.ranks()})) {
      requests_.add(transport.receive(other, tag_, std::as_writable_bytes(piece)));
    }
  }
}

}  // namespace skyline
