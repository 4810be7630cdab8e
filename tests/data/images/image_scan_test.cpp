#include "data/images/image_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

#include "data/host.h"
#include "data/images/image_folder.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

using namespace tests;
using ::testing::ElementsAre;
using ::testing::Pair;

TEST(ImageScan, CountsFormatsSizesAndBadFiles) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, FileBytes>> files = {
      {"train/a/1.jpg", jpeg_with_exif(baseline_jpeg(), exif_block(8, true))},
      {"train/a/2.JPEG", plain_png(5, 7, 1, 2, 3)},
      {"train/a/3.jpg", arithmetic_jpeg()},
      {"train/b/4.jpg", cmyk_jpeg()},
      {"train/b/ü \"5\".jpg", grey_jpeg()},
      {"train/b/6.jpg", progressive_jpeg()},
      {"val/a/1.png", png_with_exif(plain_png(1, 1, 0, 0, 0), exif_block(1, true))},
      {"val/b/line\nend", {}},
      {"val/b/huge.png", png_claiming(100'000, 100'000)}};
  std::uint64_t bytes = 0;
  for (const auto& [name, content] : files) {
    write_file(folder.path() / name, content);
    bytes += content.size();
  }
  const ImageCollection collection = scan_image_folder(folder.path());
  for (const std::size_t threads : {1, 3}) {
    std::size_t last = 0;
    const ImageScan scan =
        scan_images(collection, threads, [&](std::size_t done, std::size_t) { last = done; });
    EXPECT_LE(last, 9u);  // other threads may finish before the caller's thread reports
    if (threads == 1) {
      EXPECT_EQ(last, 9u);
    }
    EXPECT_EQ(scan.images, 9u);
    EXPECT_EQ(scan.bytes, bytes);
    ASSERT_EQ(scan.classes.size(), 2u);
    EXPECT_EQ(scan.classes[0].train, 2u);
    EXPECT_EQ(scan.classes[0].test, 1u);
    EXPECT_EQ(scan.classes[0].bad, 1u);
    EXPECT_EQ(scan.classes[1].train, 3u);
    EXPECT_EQ(scan.classes[1].test, 0u);
    EXPECT_EQ(scan.classes[1].bad, 2u);
    EXPECT_THAT(scan.formats, ElementsAre(Pair("CMYK JPEG", 1), Pair("JPEG", 1), Pair("PNG", 2),
                                          Pair("grey JPEG", 1), Pair("progressive JPEG", 1)));
    EXPECT_EQ(scan.smallest.pixels(), 1u);
    EXPECT_EQ(scan.largest.width, 8u) << "and 16 rows: it is turned";
    EXPECT_EQ(scan.turned, 1u);
    const std::string root = folder.path().string();
    EXPECT_THAT(
        scan.bad,
        ElementsAre(BadImage{root + "/train/a/3.jpg",
                             "is an arithmetic-coded JPEG, which is not supported"},
                    BadImage{root + "/val/b/huge.png",
                             "is too large: its header claims 100000 x 100000, at most 200000000 "
                             "pixels are supported"},
                    BadImage{root + "/val/b/line\nend", "file is empty"}));
  }
}

TEST(Printable, KeepsNamesOnOneLine) {
  EXPECT_EQ(printable("a b 'c' \"d\" ü"), "a b 'c' \"d\" ü");
  EXPECT_EQ(printable("a\nb\tc\x1b[1m\x7f"), "a\\nb\\tc\\x1b[1m\\x7f");
  EXPECT_EQ(printable("\u0085\u009b2J"), "\\u0085\\u009b2J") << "controls of Unicode";
  EXPECT_EQ(printable("a\u202egnp\u2066b\u2069\u2028"), "a\\u202egnp\\u2066b\\u2069\\u2028");
  EXPECT_EQ(printable("\ufeffa"), "\\ufeffa");
  EXPECT_EQ(printable("\x9b"
                      "2J \xe9 \xe2\x80"),
            "\\x9b2J \xe9 \xe2\\x80")
      << "stray bytes";
  EXPECT_EQ(printable("\u00e9\u05d0\u4e2d\U0001f600"), "\u00e9\u05d0\u4e2d\U0001f600");
}

TEST(Printable, KeepsTheLinesOfATextOfLines) {
  EXPECT_EQ(printable_lines("a\tb\n\x1b[2J\u202e\r\n"), "a\tb\n\\x1b[2J\\u202e\\x0d\n");
}

TEST(ParallelFor, CallsEveryIndexOnce) {
  for (const std::size_t threads : {0, 1, 4, 100}) {
    std::vector<std::atomic<int>> calls(50);
    parallel_for(50, threads, [&](std::size_t, std::size_t i) { ++calls[i]; });
    for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  }
  parallel_for(0, 3, [](std::size_t, std::size_t) { FAIL(); });
}

TEST(ParallelFor, ThrowsWhatTheLowestIndexThrew) {
  for (int round = 0; round < 50; ++round) {
    try {
      parallel_for(100, 4, [](std::size_t, std::size_t i) {
        if (i % 10 == 3) throw std::runtime_error(std::to_string(i));
      });
      FAIL() << "no exception";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "3");
    }
  }
}

}  // namespace
}  // namespace skyline
