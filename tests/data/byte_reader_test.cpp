#include "data/byte_reader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

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

TEST(ByteReader, ReadsAFileOfManyPieces) {
  const TemporaryFolder folder;
  Bytes plain(300'001);
  std::mt19937 random(1);
  for (std::uint8_t& byte : plain) byte = static_cast<std::uint8_t>(random());
  const Bytes packed = gzipped(plain);
  ASSERT_GT(packed.size(), 200'000u);
  folder.write("plain", plain);
  folder.write("packed", packed);
  folder.write("members", joined(packed, gzipped(counting(10))));
  ByteReader reader = ByteReader::open(folder.path() / "plain");
  EXPECT_EQ(reader.most_remaining_bytes(), plain.size());
  EXPECT_EQ(read_all(reader, 70'000), plain);
  ByteReader members = ByteReader::open(folder.path() / "members");
  EXPECT_EQ(read_all(members, 70'000), joined(plain, counting(10)));
  folder.write("cut", {packed.begin(), packed.end() - 9});
  ByteReader cut = ByteReader::open(folder.path() / "cut");
  EXPECT_THAT(data_error_of([&] { read_all(cut, 70'000); }),
              HasSubstr(fmt::format("end early, after {} compressed bytes", packed.size() - 9)));
}

// 130 KB of gzip hold 128 MiB; reading ends at half of them.
TEST(ByteReader, RefusesWhatExpandsTooMuch) {
  Bytes members;
  const Bytes one = gzipped(Bytes(1 << 20));
  for (int i = 0; i < 128; ++i) members = joined(std::move(members), one);
  ByteReader bomb("bomb.gz", members);
  std::size_t read = 0;
  Bytes part(1 << 16);
  EXPECT_THAT(data_error_of([&] {
                for (;;) read += bomb.read(part);
              }),
              HasSubstr("which no data do; gunzip the file to read it all the same"));
  EXPECT_EQ(read, std::size_t{1} << 26);
  ByteReader small("small.gz", joined(one, joined(one, one)));
  EXPECT_EQ(read_all(small, 1 << 16).size(), std::size_t{3} << 20);
}

// A sparse file takes no disk, but holding it would take that much memory.
TEST(ByteReader, HoldsOnlyAPieceOfAFile) {
  const TemporaryFolder folder;
  folder.write("sparse", {});
  std::filesystem::resize_file(folder.path() / "sparse", std::uintmax_t{1} << 42);
  ByteReader reader = ByteReader::open(folder.path() / "sparse");
  Bytes part(1 << 20, 7);
  EXPECT_EQ(reader.read(part), part.size());
  EXPECT_EQ(part, Bytes(part.size()));
  EXPECT_EQ(reader.most_remaining_bytes(), (std::uint64_t{1} << 42) - part.size());
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
