#include "train/cli/byte_sizes.h"

#include <gtest/gtest.h>

#include <random>

#include "train/cli/usage_error.h"

namespace skyline {
namespace {

std::string refusal(std::string_view text) {
  try {
    return "accepted as " + std::to_string(parse_bytes(text));
  } catch (const UsageError& error) {
    return error.what();
  }
}

TEST(ParseBytes, TakesBinaryUnitsInAnyCase) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("8388608"), 8388608u);
  EXPECT_EQ(parse_bytes("512B"), 512u);
  EXPECT_EQ(parse_bytes("8MiB"), 8388608u);
  EXPECT_EQ(parse_bytes("16GiB"), 17179869184u);
  EXPECT_EQ(parse_bytes(" 1 kib "), 1024u);
  EXPECT_EQ(parse_bytes("2TIB"), std::uint64_t{2} << 40);
  EXPECT_EQ(parse_bytes("4096PiB"), std::uint64_t{1} << 62);
}

TEST(ParseBytes, RoundsFractionsOfAUnitDown) {
  EXPECT_EQ(parse_bytes("1.5GiB"), 1610612736u);
  EXPECT_EQ(parse_bytes("0.5KiB"), 512u);
  EXPECT_EQ(parse_bytes("1.0B"), 1u);
  EXPECT_EQ(parse_bytes("0.0009765625KiB"), 1u);
  EXPECT_EQ(parse_bytes("0.3KiB"), 307u);
  EXPECT_EQ(parse_bytes("15.68MiB"), 16441671u);
  EXPECT_EQ(refusal("1.5"), "invalid size '1.5': it is not a whole number of bytes");
}

TEST(ParseBytes, AnswersDecimalUnitsWithBinaryOnes) {
  EXPECT_EQ(refusal("8MB"), "invalid size '8MB': use KiB, MiB or GiB; did you mean '8MiB'?");
  EXPECT_EQ(refusal("1.5 g"), "invalid size '1.5 g': use KiB, MiB or GiB; did you mean '1.5GiB'?");
}

TEST(ParseBytes, RefusesWhatIsNoSize) {
  for (const char* text : {"", "MiB", "-1", "+1", "1e3", "0x10", "8 M iB", "1.MiB", ".5KiB",
                           "1..5KiB", "nan", "8MiBs", "1,5GiB"}) {
    EXPECT_THROW(parse_bytes(text), UsageError) << text;
  }
}

TEST(ParseBytes, RefusesMoreThan63Bits) {
  EXPECT_EQ(parse_bytes("9223372036854775807"), 9223372036854775807u);
  for (const char* text : {"9223372036854775808", "8192PiB", "8191.9999PiB1",
                           "99999999999999999999", "340282366920938463463374607431768211457"}) {
    EXPECT_THROW(parse_bytes(text), UsageError) << text;
  }
}

TEST(FormatBytes, RoundedUpIsEnough) {
  EXPECT_EQ(format_bytes_up(8388608), "8 MiB");
  EXPECT_EQ(format_bytes_up(8388609), "8.01 MiB");
  for (std::uint64_t bytes = 1; bytes < std::uint64_t{1} << 60; bytes = bytes * 7 / 5 + 1) {
    EXPECT_GE(parse_bytes(format_bytes_up(bytes)), bytes);
    EXPECT_LE(parse_bytes(format_bytes_up(bytes)), bytes + bytes / 99 + 1);
  }
}

TEST(FormatBytes, RoundsToFourDigits) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(512), "512 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(8388608), "8 MiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(13008896), "12.41 MiB");
  EXPECT_EQ(format_bytes(1048575), "1 MiB");
  EXPECT_EQ(format_bytes(std::uint64_t{9223372036854775807u}), "8192 PiB");
}

TEST(FormatBytesExact, IsReadBackUnchanged) {
  EXPECT_EQ(format_bytes_exact(0), "0B");
  EXPECT_EQ(format_bytes_exact(8388608), "8MiB");
  EXPECT_EQ(format_bytes_exact(8388609), "8388609B");
  const auto seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 10000; ++i) {
    const std::uint64_t bytes = random() >> (1 + random() % 63) << (random() % 2 * 10);
    if (bytes >> 63) continue;
    EXPECT_EQ(parse_bytes(format_bytes_exact(bytes)), bytes);
  }
}

}  // namespace
}  // namespace skyline
