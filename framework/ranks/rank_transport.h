#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace skyline {

inline constexpr std::int64_t kMostRanks = 4096;

// Sends bytes between the ranks of a run: the processes that train one network. Ranks count from 0.
// No function waits. Thread rule: one thread makes, uses and destroys it.
class RankTransport {
 public:
  using Request = std::uint64_t;

  virtual ~RankTransport() = default;
  virtual std::size_t rank() const noexcept = 0;
  virtual std::size_t ranks() const noexcept = 0;
  // Ranks on this machine, and which of them this is.
  virtual std::size_t ranks_here() const noexcept = 0;
  virtual std::size_t rank_here() const noexcept = 0;

  // The messages of one tag from one rank to another arrive in the order in which they were sent.
  // The bytes must stay until the request is done. A message has at most 1 GiB and arrives in as
  // many bytes as it was sent in.
  virtual Request send(std::size_t to, int tag, std::span<const std::byte> bytes) = 0;
  virtual Request receive(std::size_t from, int tag, std::span<std::byte> bytes) = 0;
  // Adds the values of all ranks in any order. All ranks call it in the same sequence. The values
  // must stay until the request is done. At most 2^26 values.
  virtual Request sum(std::span<float> values) = 0;
  // Returns true once the request is done; then it is forgotten.
  virtual bool done(Request request) = 0;
};

}  // namespace skyline
