#include "memory/allocators/account.h"

#include <string>

namespace skyline {

void Account::refuse(OutOfMemoryFacts device_facts, std::string_view where,
                     std::size_t requested_bytes, const Tag& tag,
                     std::optional<std::size_t> largest_free_block_bytes) {
  ++now_.out_of_memory;
  OutOfMemoryFacts facts = std::move(device_facts);
  facts.where = std::string(where) + " on " + facts.where;
  facts.requested_bytes = requested_bytes;
  facts.allocated_bytes = now_.allocated_bytes;
  facts.reserved_bytes = now_.reserved_bytes;
  facts.largest_free_block_bytes = largest_free_block_bytes;
  facts.request = tag_name(tag);
  throw OutOfMemory(std::move(facts));
}

}  // namespace skyline
