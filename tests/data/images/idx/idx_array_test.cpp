#include "data/images/idx/idx_array.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"

namespace skyline {
namespace {

using testing::HasSubstr;

IdxArray parse(const Bytes& bytes, int rank) {
  ByteReader reader("file", bytes);
  return parse_idx(reader, rank);
}

std::string parse_error(const Bytes& bytes, int rank) {
  return data_error_of([&] { parse(bytes, rank); });
}

TEST(Idx, ParsesAnArray) {
  const IdxArray array = parse(idx_bytes({2, 3}, {1, 2, 3, 4, 5, 6}), 2);
  EXPECT_EQ(array.dimensions, (std::vector<std::uint32_t>{2, 3}));
  EXPECT_EQ(array.bytes, (Bytes{1, 2, 3, 4, 5, 6}));
}

TEST(Idx, ParsesAnArrayLargerThanOneRead) {
  Bytes contents(3'000'001);
  for (std::size_t i = 0; i < contents.size(); ++i)
    contents[i] = static_cast<std::uint8_t>(i % 251);
  EXPECT_EQ(parse(gzipped(idx_bytes({3'000'001}, contents)), 1).bytes, contents);
}

TEST(Idx, SaysWhatKindOfFileItGot) {
  EXPECT_THAT(parse_error({'P', 'K', 3, 4, 0, 0}, 3),
              HasSubstr("got 0x504B0304 (not an IDX file)"));
  EXPECT_THAT(parse_error({0, 0, 0x0D, 3, 0, 0}, 3), HasSubstr("got 0x00000D03 (floats, 3"));
  EXPECT_THAT(parse_error({0, 0, 0x07, 3, 0, 0}, 3), HasSubstr("got 0x00000703 (not an IDX file)"));
}

TEST(Idx, SaysWhereAFileEndsEarly) {
  EXPECT_EQ(parse_error({}, 1),
            "[file] file ends within its magic number, got 0 bytes of it, expected 4");
  EXPECT_EQ(parse_error({0, 0, 8, 2, 0, 0, 0, 5, 0, 0}, 2),
            "[file] file ends within its dimension 1, got 2 bytes of it, expected 4");
  EXPECT_EQ(parse_error(idx_bytes({2, 3}, {1, 2, 3}), 2),
            "[file] file ends early, got at most 3 bytes after its header, expected 6 (2 x 3)");
  EXPECT_EQ(parse_error(gzipped(idx_bytes({2, 3}, {1, 2, 3})), 2),
            "[file] file ends early, got 3 bytes after its header, expected 6 (2 x 3)");
}

TEST(Idx, RefusesBytesAfterTheArray) {
  const Bytes bytes = idx_bytes({2}, {1, 2, 3});
  EXPECT_EQ(parse_error(bytes, 1), "[file] file goes on after its 2 bytes (2)");
  EXPECT_EQ(parse_error(gzipped(bytes), 1), "[file] file goes on after its 2 bytes (2)");
}

TEST(Idx, RefusesAbsurdDimensionsBeforeTakingMemory) {
  // None of these arrays would fit into memory; sanitizer builds refuse such requests outright.
  EXPECT_THAT(parse_error(idx_bytes({0xffffffff, 0xffffffff, 0xffffffff}, {}), 3),
              HasSubstr("array too large, got 4294967295 x 4294967295 x 4294967295 bytes"));
  EXPECT_THAT(parse_error(gzipped(idx_bytes({60000, 28, 1000}, {})), 3),
              HasSubstr("file ends early, got at most"));
  EXPECT_THAT(parse_error(idx_bytes({5, 0}, {}), 2), HasSubstr("an empty array, got 5 x 0"));
}

TEST(Idx, GivesBackTheBytesOfItsFile) {
  const Bytes bytes = idx_bytes({2, 3}, {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(parse(bytes, 2).file(), bytes);
  EXPECT_EQ(parse(gzipped(bytes), 2).file(), bytes);
}

}  // namespace
}  // namespace skyline
