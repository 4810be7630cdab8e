#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace skyline {

// SHA-256 (FIPS 180-4) of bytes that arrive in pieces, computed by libcrypto.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void update(std::span<const std::byte> bytes);
  std::string hex();  // 64 lower-case digits; ends the computation, so call it once

 private:
  struct State;
  std::unique_ptr<State> state_;
};

std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace skyline
