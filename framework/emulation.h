#pragma once

#include <cstddef>
#include <optional>

namespace skyline {

// Requests of other software, which a dry run makes in place of its own ops' and kernels'.
struct Emulation {
  // Workspace of every convolution, instead of what its kernel needs, as if the library had been
  // given that limit and used all of it (PGMO section 5: 8 MiB).
  std::optional<std::size_t> convolution_workspace_bytes = {};
  // Chainer 3's: a relu is an op of its own, not a part of the op before it, and an LSTM copies
  // its weights into one buffer in each call, as cuDNN wants them.
  bool chainer_ops = false;

  bool operator==(const Emulation&) const = default;
};

}  // namespace skyline
