#pragma once

#include <cstdint>
#include <vector>

#include "memory/order/order_problem.h"

namespace skyline {

// Keeps what list schedulers ask for: which ops may run, and how many bytes an op would free. An op
// frees a value that nothing else will read, unless it is kept: an input, or its own output. The
// problem must outlive it.
class ReadyOps {
 public:
  explicit ReadyOps(const OrderProblem& problem);

  // Changes that running an op makes.
  struct Changes {
    std::vector<OpId> ready;       // ops that need nothing more
    std::vector<OpId> frees_more;  // ops that became the only reader of a value; ready or not
  };

  std::vector<OpId> ready_at_first() const;
  std::uint64_t freed_bytes(OpId op) const { return freed_bytes_[op]; }
  std::uint64_t output_bytes(OpId op) const { return output_bytes_[op]; }

  // Runs an op that is ready. The reference holds until the next call.
  const Changes& run(OpId op);

 private:
  const OrderProblem& problem_;
  std::vector<std::uint32_t> readers_left_;  // by value
  std::vector<OpId> readers_xor_;            // by value: all that are left; of one, itself
  std::vector<std::size_t> missing_;         // predecessors that have not run, by op
  std::vector<std::uint64_t> freed_bytes_, output_bytes_;  // by op
  Changes changes_;
};

}  // namespace skyline
