#pragma once

#include <cstdint>
#include <span>

#include "framework/context.h"
#include "models/model.h"
#include "train/run/memory_chain.h"

namespace skyline {

// Where steps are run: memory, a context on it, and the network that lives there.
class Workplace {
 public:
  Workplace(const MemoryOptions& memory_options, const Context::Options& context_options)
      : memory(memory_options), context(memory.allocator(), context_options) {}
  virtual ~Workplace() = default;
  Workplace(const Workplace&) = delete;
  Workplace& operator=(const Workplace&) = delete;

  virtual const Network& network() const = 0;
  // What only training needs: velocities, moments; empty in inference mode.
  virtual std::span<const Buffer> optimizer_state() const = 0;

  MemoryChain memory;
  Context context;
  std::uint64_t network_bytes = 0;  // of resident_bytes()
  // Rounded: parameters, gradients, optimizer and running values, and staged inputs.
  std::uint64_t resident_bytes() const { return network_bytes + context.staging_bytes(); }
};

}  // namespace skyline
