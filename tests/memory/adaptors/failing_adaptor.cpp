#include "tests/memory/adaptors/failing_adaptor.h"

namespace skyline {

Extent FailingAdaptor::acquire(std::size_t bytes, const Tag& tag) {
  if (countdown_ && (*countdown_)-- == 0) {
    countdown_.reset();
    ++failures_;
    throw OutOfMemory({.where = "failing",
                       .shortage = Shortage::kInjected,
                       .requested_bytes = bytes,
                       .allocated_bytes = {},
                       .reserved_bytes = {},
                       .capacity_bytes = {},
                       .largest_free_block_bytes = {},
                       .request = tag_name(tag)});
  }
  return upstream().acquire(bytes, tag);
}

Statistics FailingAdaptor::statistics() const {
  Statistics statistics = upstream().statistics();
  statistics.out_of_memory += failures_;
  return statistics;
}

}  // namespace skyline
