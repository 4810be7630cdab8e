#include "data/byte_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/data/data_error_of.h"
#include "tests/data/images/idx_files.h"

namespace skyline {
namespace {

using testing::HasSubstr;

Bytes read_all(ByteReader& reader, std::size_t piece = 7) {
  Bytes all;
  for (Bytes part(piece);;) {
    const std::size_t count = reader.read(part);
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
    if (count < piece) return all;
  }
}

Bytes read_all(const Bytes& contents) {
  ByteReader reader("bytes", contents);
  return read_all(reader);
}

Bytes counting(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::uint8_t>(i * i >> 3);
  return bytes;
}

TEST(ByteReader, GivesPlainAndCompressedBytesAlike) {
  for (const std::size_t size : {0, 1, 7, 100'000}) {
    EXPECT_EQ(read_all(counting(size)), counting(size));
    EXPECT_EQ(read_all(gzipped(counting(size))), counting(size));
  }
}

TEST(ByteReader, JoinsTheMembersOfAGzipFile) {
  const Bytes two = joined(gzipped(counting(50)), joined(gzipped({}), gzipped(counting(30))));
  EXPECT_EQ(read_all(two), joined(counting(50), counting(30)));
}

TEST(ByteReader, GoesOnReadingAfterAMove) {
  ByteReader first("bytes", gzipped(counting(1000)));
  Bytes begin(10);
  ASSERT_EQ(first.read(begin), 10u);
  ByteReader second = std::move(first);
  EXPECT_EQ(joined(begin, read_all(second)), counting(1000));
}

TEST(ByteReader, NeverGivesMoreThanItSaid) {
  const Bytes zeros(3'000'000);  // about as well as deflate can compress
  ByteReader reader("zeros", gzipped(zeros));
  EXPECT_GE(reader.most_remaining_bytes(), zeros.size());
  EXPECT_LT(reader.most_remaining_bytes(), 2 * zeros.size());
  EXPECT_EQ(read_all(reader, 4096), zeros);
}

TEST(ByteReader, SaysWhereCompressedBytesEndEarly) {
  const Bytes whole = gzipped(counting(1000));
  for (std::size_t size = 2; size < whole.size(); ++size) {  // cut anywhere, trailer included
    const Bytes cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(data_error_of([&] { read_all(cut); }),
              "[bytes] gzip data end early, after " + std::to_string(size) + " compressed bytes");
  }
}

TEST(ByteReader, ComparesTheChecksumAndTheLength) {
  Bytes checksum = gzipped(counting(1000)), length = checksum;
  checksum[checksum.size() - 8] ^= 1;
  length[length.size() - 1] ^= 1;
  EXPECT_THAT(data_error_of([&] { read_all(checksum); }), HasSubstr("incorrect data check"));
  EXPECT_THAT(data_error_of([&] { read_all(length); }), HasSubstr("incorrect length check"));
}

TEST(ByteReader, FindsEveryFlippedByteOrGivesTheSameBytes) {
  const Bytes whole = gzipped(counting(300));
  int found = 0;
  for (std::size_t i = 2; i < whole.size(); ++i) {
    Bytes flipped = whole;
    flipped[i] ^= 0x55;
    try {
      EXPECT_EQ(read_all(flipped), counting(300)) << "byte " << i;  // the date or an unused flag
    } catch (const DataError&) {
      ++found;
    }
  }
  EXPECT_GT(found, static_cast<int>(whole.size()) - 10);
}

TEST(ByteReader, RefusesBytesAfterTheCompressedOnes) {
  const Bytes tail = joined(gzipped(counting(10)), {'t', 'a', 'i', 'l'});
  EXPECT_EQ(data_error_of([&] { read_all(tail); }), "[bytes] 4 bytes follow the gzip data");
}

TEST(ByteReader, NamesAFileThatIsMissingOrAFolder) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "absent";
  EXPECT_EQ(data_error_of([&] { ByteReader::open(path); }),
            fmt::format("[{}] no such file", path.string()));
  EXPECT_EQ(data_error_of([&] { ByteReader::open(folder.path()); }),
            fmt::format("[{}] not a file", folder.path().string()));
}

TEST(ByteReader, OpensAFile) {
  const TemporaryFolder folder;
  folder.write("a", gzipped(counting(99)));
  ByteReader reader = ByteReader::open(folder.path() / "a");
  EXPECT_EQ(reader.source(), (folder.path() / "a").string());
  EXPECT_EQ(read_all(reader), counting(99));
}

}  // namespace
}  // namespace skyline
