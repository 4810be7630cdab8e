#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace skyline {

// Bytes that an allocator handed out. `cookie` belongs to the allocator, which gets it back on
// release.
struct Extent {
  std::byte* address = nullptr;
  std::size_t bytes = 0;  // as requested
  std::uint64_t cookie = 0;
};

class Allocator;

// Move-only owner of an extent. Its destructor returns the extent to the allocator.
class Block {
 public:
  Block() = default;
  Block(Allocator* owner, Extent extent) noexcept : owner_(owner), extent_(extent) {}
  Block(Block&& other) noexcept
      : owner_(std::exchange(other.owner_, nullptr)), extent_(std::exchange(other.extent_, {})) {}
  Block& operator=(Block&& other) noexcept {
    if (this != &other) {
      reset();
      owner_ = std::exchange(other.owner_, nullptr);
      extent_ = std::exchange(other.extent_, {});
    }
    return *this;
  }
  ~Block() { reset(); }

  std::byte* address() const noexcept { return extent_.address; }
  std::size_t bytes() const noexcept { return extent_.bytes; }
  explicit operator bool() const noexcept { return owner_ != nullptr; }
  inline void reset() noexcept;  // defined in allocator.h

 private:
  friend class Allocator;
  Allocator* owner_ = nullptr;
  Extent extent_;
};

}  // namespace skyline
