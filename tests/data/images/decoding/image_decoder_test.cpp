#include "data/images/decoding/image_decoder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <thread>

#include "data/images/decoding/image_header.h"
#include "tests/data/images/idx_files.h"
#include "tests/data/images/image_files.h"

namespace skyline {
namespace {

using namespace tests;
using Pixel = std::array<int, 3>;

Pixel pixel(const DecodedImage& image, int x, int y) {
  const std::uint8_t* at = image.pixels.data.get() + 3 * (y * image.pixels.width + x);
  return {at[0], at[1], at[2]};
}

std::string kind_of(const FileBytes& file) { return decode_image(file).header.kind; }

std::string error_of(const FileBytes& file) {
  try {
    decode_image(file);
  } catch (const ImageError& error) {
    return error.what();
  }
  return "no error";
}

std::string read_error(const std::filesystem::path& path) {
  try {
    read_image_file(path);
  } catch (const ImageError& error) {
    return error.what();
  }
  return "no error";
}

// JPEG rounds: the test image's colours survive quality 60 within 2.
void expect_halves(const DecodedImage& image, const Pixel& left, const Pixel& right) {
  ASSERT_EQ(image.pixels.width, 16);
  ASSERT_EQ(image.pixels.height, 8);
  for (int y = 0; y < 8; ++y) {
    for (int x = 0; x < 16; ++x) {
      const Pixel& expected = x < 8 ? left : right;
      const Pixel got = pixel(image, x, y);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(got[i], expected[i], 2) << x << ", " << y;
    }
  }
}

TEST(ImageDecoder, ReadsABaselineJpeg) {
  expect_halves(decode_image(baseline_jpeg()), {200, 40, 40}, {40, 40, 200});
  EXPECT_EQ(kind_of(baseline_jpeg()), "JPEG");
}

TEST(ImageDecoder, ReadsAProgressiveJpeg) {
  expect_halves(decode_image(progressive_jpeg()), {200, 40, 40}, {40, 40, 200});
  EXPECT_EQ(kind_of(progressive_jpeg()), "progressive JPEG");
}

TEST(ImageDecoder, ReadsACmykJpegAsRgb) {
  expect_halves(decode_image(cmyk_jpeg()), {200, 40, 40}, {40, 40, 200});
  EXPECT_EQ(kind_of(cmyk_jpeg()), "CMYK JPEG");
}

TEST(ImageDecoder, ReadsAGreyJpegAsThreeEqualChannels) {
  expect_halves(decode_image(grey_jpeg()), {88, 88, 88}, {58, 58, 58});
  EXPECT_EQ(kind_of(grey_jpeg()), "grey JPEG");
}

TEST(ImageDecoder, ReadsEveryColourOfPng) {
  const DecodedImage rgb = decode_image(png(2, 1, PngColour::kRgb, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(pixel(rgb, 0, 0), (Pixel{1, 2, 3}));
  EXPECT_EQ(pixel(rgb, 1, 0), (Pixel{4, 5, 6}));
  const DecodedImage grey = decode_image(png(1, 2, PngColour::kGrey, {9, 200}));
  EXPECT_EQ(pixel(grey, 0, 1), (Pixel{200, 200, 200}));
  const DecodedImage palette = decode_image(png(2, 1, PngColour::kPalette, {0, 100}));
  EXPECT_EQ(pixel(palette, 1, 0), (Pixel{100, 155, 7}));
  const DecodedImage alpha = decode_image(png(1, 1, PngColour::kRgba, {10, 20, 30, 0}));
  EXPECT_EQ(pixel(alpha, 0, 0), (Pixel{10, 20, 30})) << "alpha is left out";
  EXPECT_EQ(rgb.header.kind + ", " + grey.header.kind + ", " + palette.header.kind + ", " +
                alpha.header.kind,
            "PNG, grey PNG, palette PNG, alpha PNG");
}

TEST(ImageDecoder, ReadsAnImageOfOnePixel) {
  const DecodedImage image = decode_image(plain_png(1, 1, 10, 200, 30));
  EXPECT_EQ(image.pixels.width, 1);
  EXPECT_EQ(image.pixels.height, 1);
  EXPECT_EQ(pixel(image, 0, 0), (Pixel{10, 200, 30}));
}

TEST(ImageDecoder, RefusesAnEmptyFile) { EXPECT_EQ(error_of({}), "file is empty"); }

TEST(ImageDecoder, RefusesWhatIsNoImage) {
  EXPECT_EQ(error_of({'h', 'e', 'l', 'l', 'o'}),
            "is not an image: it begins with the bytes 68 65 6c 6c");
  EXPECT_EQ(error_of({'x'}), "is not an image: it begins with the bytes 78");
  EXPECT_EQ(error_of({'G', 'I', 'F', '8', '9', 'a'}),
            "is a GIF file; only JPEG and PNG are supported");
}

TEST(ImageDecoder, RefusesAnArithmeticCodedJpeg) {
  EXPECT_EQ(error_of(arithmetic_jpeg()), "is an arithmetic-coded JPEG, which is not supported");
}

TEST(ImageDecoder, RefusesATruncatedFile) {
  EXPECT_EQ(error_of(truncated_jpeg()), "file ends early, after 248 bytes");
  FileBytes file = plain_png(40, 40, 1, 2, 3);
  file.resize(file.size() - 20);
  EXPECT_EQ(error_of(file), "file ends early, after " + std::to_string(file.size()) + " bytes");
}

TEST(ImageDecoder, RefusesEveryBeginningOfAFile) {
  for (const FileBytes& whole :
       {baseline_jpeg(), progressive_jpeg(), cmyk_jpeg(), plain_png(9, 9, 1, 2, 3)}) {
    for (std::size_t length = 0; length + 16 < whole.size(); ++length) {
      const FileBytes part(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(length));
      ASSERT_NE(error_of(part), "no error") << length << " of " << whole.size();
    }
  }
}

TEST(ImageDecoder, RefusesAnImageWithoutPixels) {
  EXPECT_EQ(error_of(png_claiming(0, 5)), "has no pixels: its header claims 0 x 5");
  FileBytes jpeg = baseline_jpeg();
  for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) jpeg[i + 5] = jpeg[i + 6] = 0;  // its height
  }
  EXPECT_EQ(error_of(jpeg), "has no pixels: its header claims 16 x 0");
}

TEST(ImageDecoder, RefusesAHeaderThatClaimsTooMuchBeforeAllocating) {
  EXPECT_EQ(
      error_of(png_claiming(100'000, 100'000)),
      "is too large: its header claims 100000 x 100000, at most 67108864 pixels are supported");
  EXPECT_EQ(error_of(png_claiming(0xffffffff, 0xffffffff)),
            "is too large: its header claims 4294967295 x 4294967295, at most 67108864 pixels are "
            "supported");
}

// Twenty megabytes of zeros after a header that claims 2 x 2.
TEST(ImageDecoder, RefusesDataThatAreLargerThanTheImage) {
  EXPECT_EQ(error_of(png(2, 2, PngColour::kRgb, std::vector<std::uint8_t>(20'000'000))),
            "has more data than its width and height allow");
}

// stb_image 2.27 would write these 16 · 255 symbols past the end of its table.
TEST(ImageDecoder, RefusesAHuffmanTableThatIsTooLong) {
  FileBytes tables = {0xff, 0xc4, 0x10, 0x03, 0x00};
  tables.insert(tables.end(), 16, 0xff);
  tables.resize(2 + 0x1003);
  const std::string expected =
      "is a damaged JPEG: a Huffman table of 4080 symbols; at most 256 are allowed";
  const FileBytes jpeg = baseline_jpeg();
  const auto with_tables_at = [&](std::size_t position) {
    FileBytes file = jpeg;
    file.insert(file.begin() + static_cast<std::ptrdiff_t>(position), tables.begin(), tables.end());
    return error_of(file);
  };
  EXPECT_EQ(with_tables_at(2), expected) << "before the frame";
  EXPECT_EQ(with_tables_at(jpeg.size() - 2), expected) << "after the scan";
}

TEST(ImageDecoder, SkipsWhatLooksLikeATableInAComment) {
  FileBytes comment = {0xff, 0xfe, 0x00, 0x16, 0xff, 0xc4, 0x10, 0x03};
  comment.insert(comment.end(), 16, 0xff);
  FileBytes file = baseline_jpeg();
  file.insert(file.begin() + 2, comment.begin(), comment.end());
  expect_halves(decode_image(file), {200, 40, 40}, {40, 40, 200});
}

// stb_image keeps its reason in a variable of the thread, and fails in places without setting it.
TEST(ImageDecoder, GivesTheReasonOfThisFile) {
  const FileBytes no_reason = png_of_reserved_block();
  std::thread([&] {
    EXPECT_EQ(error_of(no_reason), "cannot be decoded: damaged data") << "a thread's first file";
    FileBytes other = plain_png(8, 8, 1, 2, 3);
    other[26] = 1;  // its compression method
    EXPECT_EQ(error_of(other), "cannot be decoded: bad comp method");
    EXPECT_EQ(error_of(no_reason), "cannot be decoded: damaged data") << "after another";
  }).join();
}

// A sparse file takes no disk, but reading it would take that much memory.
TEST(ImageDecoder, RefusesAFileThatIsTooLargeBeforeReadingIt) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "sparse.jpg";
  write_file(file, {});
  std::filesystem::resize_file(file, std::uintmax_t{3} << 30);
  EXPECT_EQ(read_error(file),
            "is too large: it has 3221225472 bytes, at most 2147483647 are supported");
}

TEST(ImageDecoder, SaysWhyAFileCannotBeOpened) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_error(folder.path() / "none.jpg"), "no such file");
  EXPECT_EQ(read_error(folder.path()), "is not a file");
  const auto pipe = folder.path() / "pipe.jpg";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(read_error(pipe), "is not a file") << "opening it would wait forever";
  const auto loop = folder.path() / "loop.jpg";
  std::filesystem::create_symlink(loop, loop);
  EXPECT_EQ(read_error(loop), "cannot be read: Too many levels of symbolic links");
}

}  // namespace
}  // namespace skyline
