#include "train/checkpoints/sha256.h"

#include <gtest/gtest.h>

#include <string_view>

namespace skyline {
namespace {

std::span<const std::byte> bytes_of(std::string_view text) {
  return std::as_bytes(std::span(text));
}

// NIST's example vectors for FIPS 180-4.
TEST(Sha256Test, MatchesThePublishedVectors) {
  EXPECT_EQ(sha256_hex(bytes_of("")),
            "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(Sha256Test, TakesBytesInPieces) {
  Sha256 hash;
  hash.update(bytes_of("a"));
  hash.update(bytes_of(""));
  hash.update(bytes_of("bc"));
  EXPECT_EQ(hash.hex(), sha256_hex(bytes_of("abc")));
}

}  // namespace
}  // namespace skyline
