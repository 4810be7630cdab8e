#include "data/images/decoding/image_decoder.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

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
            "is a GIF file; only JPEG and PNG are supported (ImageMagick converts it: magick FILE "
            "FILE.png)");
}

TEST(ImageDecoder, NamesOtherFormats) {
  using std::string_literals::operator""s;
  const std::vector<std::pair<std::string, std::string>> images = {
      {"GIF87a", "a GIF"},
      {"BM\x36\0"s, "a BMP"},
      {"RIFF\x10\0\0\0WEBPVP8 "s, "a WebP"},
      {"II*\0\x08\0"s, "a TIFF"},
      {"\0\0\0\x1c"
       "ftypheic\0\0\0\0mif1heic"s,
       "a HEIC"},
      {"\0\0\0\x18"
       "ftypmif1"s,
       "a HEIC"},
      {"\0\0\0\x20"
       "ftypavif"s,
       "an AVIF"},
      {"\0\0\0\x0cjP  \r\n\x87\n\0\0"s, "a JPEG 2000"},
      {"\xff\x4f\xff\x51\0\x2f"s, "a JPEG 2000"},
      {"\0\0\0\x0cJXL \r\n\x87\n"s, "a JPEG XL"},
      {"\xff\x0a\xfa\x7f"s, "a JPEG XL"},
      {"P1\n2 2\n0 1 1 0", "a PNM"},
      {"P6\n# by hand\n1 1 255 abc", "a PNM"},
      {"P5 1 1 255 a", "a PNM"},
      {"8BPS\0\1"s, "a Photoshop (PSD)"},
      {"\0\0\1\0\1\0"s, "an ICO"},
      {"<svg xmlns=\"http://www.w3.org/2000/svg\"/>", "an SVG"},
      {"\xef\xbb\xbf<?xml version=\"1.0\"?>\n<!-- a circle --><SVG/>", "an SVG"},
      {"%PDF-1.7", "a PDF"}};
  for (const auto& [bytes, name] : images) {
    EXPECT_EQ(error_of({bytes.begin(), bytes.end()}),
              "is " + name +
                  " file; only JPEG and PNG are supported (ImageMagick converts it: magick FILE "
                  "FILE.png)");
  }
  const std::vector<std::pair<std::string, std::string>> others = {
      {"RIFF\x10\0\0\0WAVEfmt "s, "a WAV"},
      {"RIFF\x10\0\0\0AVI LIST"s, "an AVI"},
      {"RIFF\x10\0\0\0CDDA"s, "a RIFF"},
      {"RIFF", "a RIFF"},
      {"\0\0\0\x18"
       "ftypisom"s,
       "a video (MP4)"},
      {"<!DOCTYPE html><html>404</html>", "an HTML"}};
  for (const auto& [bytes, name] : others) {
    EXPECT_EQ(error_of({bytes.begin(), bytes.end()}), "is " + name + " file, no image");
  }
  EXPECT_EQ(error_of({'P', '6', '1', '2'}),
            "is not an image: it begins with the bytes 50 36 31 32");
  EXPECT_EQ(error_of({'x', 'x', 'x', 'x', '1', '2', '3', '4', 'W', 'A', 'V', 'E'}),
            "is not an image: it begins with the bytes 78 78 78 78");
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
      "is too large: its header claims 100000 x 100000, at most 200000000 pixels are supported");
  EXPECT_EQ(error_of(png_claiming(0xffffffff, 0xffffffff)),
            "is too large: its header claims 4294967295 x 4294967295, at most 200000000 pixels are "
            "supported");
}

// Twenty megabytes of zeros after a header that claims 2 x 2.
TEST(ImageDecoder, RefusesDataThatAreLargerThanTheImage) {
  EXPECT_EQ(error_of(png(2, 2, PngColour::kRgb, std::vector<std::uint8_t>(20'000'000))),
            "has more data than its width and height allow");
}

TEST(ImageDecoder, RefusesAHuffmanTableThatIsTooLong) {
  FileBytes tables = {0xff, 0xc4, 0x10, 0x03, 0x00};
  tables.insert(tables.end(), 16, 0xff);
  tables.resize(2 + 0x1003);
  const std::string expected = "cannot be decoded: damaged data (Bogus Huffman table definition)";
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

TEST(ImageDecoder, GivesTheReasonOfThisFile) {
  const FileBytes reserved = png_of_reserved_block();
  const std::string block = "cannot be decoded: damaged data (IDAT: invalid block type)";
  EXPECT_EQ(error_of(reserved), block);
  FileBytes checksum = plain_png(8, 8, 1, 2, 3);
  checksum[checksum.size() - 14] ^= 1;  // of its data
  EXPECT_EQ(error_of(checksum), "cannot be decoded: damaged data (IDAT: CRC error)");
  EXPECT_EQ(error_of(reserved), block) << "after another";
}

TEST(ImageDecoder, SkipsBytesBetweenSegmentsAndBehindTheEnd) {
  FileBytes file = baseline_jpeg();
  file.insert(file.begin() + 20, {0x00, 0x12, 0x34});  // behind the first segment
  file.insert(file.end(), {'m', 'o', 'r', 'e'});
  expect_halves(decode_image(file), {200, 40, 40}, {40, 40, 200});
  FileBytes png = plain_png(2, 2, 1, 2, 3);
  png.insert(png.end(), 100, 0);
  EXPECT_EQ(pixel(decode_image(png), 1, 1), (Pixel{1, 2, 3}));
}

// A bit for each block of 64 pixels, or a byte of deflate for each 1032, is the least they take.
TEST(ImageDecoder, RefusesAFileTooSmallForItsPixelsBeforeAllocating) {
  const FileBytes png = png_claiming(12'000, 9'000);
  EXPECT_EQ(error_of(png), "is damaged: its " + std::to_string(png.size()) +
                               " bytes cannot hold 12000 x 9000 pixels");
  FileBytes jpeg = baseline_jpeg();
  for (std::size_t i = 0; i + 9 < jpeg.size(); ++i) {
    if (jpeg[i] == 0xff && jpeg[i + 1] == 0xc0) jpeg[i + 5] = jpeg[i + 7] = 0x20;
  }
  EXPECT_EQ(error_of(jpeg), "is damaged: its " + std::to_string(jpeg.size()) +
                                " bytes cannot hold 8208 x 8200 pixels");
  EXPECT_EQ(error_of(png_claiming(100, 100)),
            "cannot be decoded: damaged data (Not enough image data)");
}

TEST(ImageDecoder, ReadsScansButNotForEver) {
  EXPECT_EQ(pixel(decode_image(jpeg_of_scans(100, 60, 2000)), 99, 59), (Pixel{128, 128, 128}));
  EXPECT_EQ(pixel(decode_image(jpeg_of_scans(2048, 2048, 10)), 99, 59), (Pixel{128, 128, 128}));
  const FileBytes many = jpeg_of_scans(2048, 2048, 2000);  // 32 KB that would take four seconds
  EXPECT_EQ(error_of(many),
            "has too many scans: 257 of 2048 x 2048 in " + std::to_string(many.size()) + " bytes");
}

TEST(ImageDecoder, ReadsCmykWithoutAdobesMarkerAlike) {
  FileBytes file = cmyk_jpeg();
  file.erase(file.begin() + 2, file.begin() + 18);
  expect_halves(decode_image(file), {200, 40, 40}, {40, 40, 200});
}

TEST(ImageDecoder, ReadsAnInterlacedPng) {
  constexpr int kWidth = 11, kHeight = 9;
  std::vector<std::uint8_t> samples(3 * kWidth * kHeight);
  for (std::size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<std::uint8_t>(i * 7);
  const DecodedImage image =
      decode_image(interlaced_png(kWidth, kHeight, PngColour::kRgb, samples));
  EXPECT_TRUE(std::equal(samples.begin(), samples.end(), image.pixels.data.get()));
  EXPECT_EQ(pixel(decode_image(interlaced_png(1, 1, PngColour::kGrey, {9})), 0, 0),
            (Pixel{9, 9, 9}));
}

// The six colours of a picture of 3 × 2, stored as each orientation says.
TEST(ImageDecoder, TurnsAnImageAsItsExifSays) {
  const std::vector<std::string> stored = {"abcdef", "cbafed", "fedcba", "defabc",
                                           "adbecf", "cfbead", "fcebda", "daebfc"};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    std::vector<std::uint8_t> samples;
    for (const char c : stored[static_cast<std::size_t>(orientation - 1)]) {
      samples.insert(samples.end(), {static_cast<std::uint8_t>(c), 0, 255});
    }
    const bool on_its_side = orientation > 4;
    const FileBytes file = png(on_its_side ? 2 : 3, on_its_side ? 3 : 2, PngColour::kRgb, samples);
    for (const int how : {0, 1, 2, 3}) {
      SCOPED_TRACE("orientation " + std::to_string(orientation) + ", " + std::to_string(how));
      const DecodedImage image =
          decode_image(png_with_exif(file, exif_block(orientation, (how & 1) != 0), how > 1));
      EXPECT_EQ(image.header.orientation, orientation);
      ASSERT_EQ(image.pixels.width, 3);
      ASSERT_EQ(image.pixels.height, 2);
      EXPECT_EQ(image.header.width, 3u);
      std::string seen;
      for (const int y : {0, 1}) {
        for (const int x : {0, 1, 2}) seen += static_cast<char>(pixel(image, x, y)[0]);
      }
      EXPECT_EQ(seen, "abcdef");
    }
  }
}

TEST(ImageDecoder, TurnsAJpegAsItsExifSays) {
  for (const bool big_endian : {false, true}) {
    const auto turned = [&](int orientation) {
      return decode_image(jpeg_with_exif(baseline_jpeg(), exif_block(orientation, big_endian)));
    };
    expect_halves(turned(1), {200, 40, 40}, {40, 40, 200});
    expect_halves(turned(2), {40, 40, 200}, {200, 40, 40});
    expect_halves(turned(3), {40, 40, 200}, {200, 40, 40});
    const DecodedImage clockwise = turned(6), other = turned(8);
    ASSERT_EQ(clockwise.pixels.height, 16);
    ASSERT_EQ(clockwise.pixels.width, 8);
    EXPECT_NEAR(pixel(clockwise, 4, 2)[0], 200, 2);
    EXPECT_NEAR(pixel(other, 4, 2)[2], 200, 2);
  }
}

TEST(ImageDecoder, TakesTheFirstExifBlockWithAnOrientation) {
  const FileBytes sound = exif_block(2, false), later = exif_block(1, false);
  FileBytes file = jpeg_with_exif(jpeg_with_exif(baseline_jpeg(), later), sound);
  EXPECT_EQ(decode_image(file).header.orientation, 2);
  FileBytes xmp = jpeg_with_exif(file, {'<', 'x', '>'});
  std::copy_n("http:", 5, xmp.begin() + 6);
  EXPECT_EQ(decode_image(xmp).header.orientation, 2);
  FileBytes cut = sound;
  cut.resize(25);
  EXPECT_EQ(decode_image(jpeg_with_exif(file, cut)).header.orientation, 2);
}

TEST(ImageDecoder, IgnoresDamagedExif) {
  std::vector<FileBytes> blocks = {exif_block(0, false), exif_block(9, true), {}, {'I', 'I'}};
  const FileBytes sound = exif_block(6, false);
  for (std::size_t size = 0; size < 30; ++size) {
    blocks.push_back({sound.begin(), sound.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  for (const std::size_t place : {0, 2, 4, 7, 22, 24}) {  // mark, version, offset, tag, type
    blocks.push_back(sound);
    blocks.back()[place] = 0xfe;
  }
  for (const FileBytes& block : blocks) {
    expect_halves(decode_image(jpeg_with_exif(baseline_jpeg(), block)), {200, 40, 40},
                  {40, 40, 200});
    EXPECT_EQ(decode_image(png_with_exif(plain_png(2, 3, 4, 5, 6), block)).pixels.width, 2);
  }
  FileBytes checksum = png_with_exif(plain_png(2, 3, 4, 5, 6), sound);
  checksum[33 + 8 + sound.size()] ^= 1;
  EXPECT_EQ(decode_image(checksum).pixels.width, 2);
  FileBytes behind_end = png_with_exif(plain_png(2, 3, 4, 5, 6), sound, true);
  std::rotate(behind_end.end() - 24 - static_cast<std::ptrdiff_t>(sound.size()),
              behind_end.end() - 12, behind_end.end());
  EXPECT_EQ(decode_image(behind_end).pixels.width, 2);
}

// A sparse file takes no disk, but reading it would take that much memory.
TEST(ImageDecoder, RefusesAFileThatIsTooLargeBeforeReadingIt) {
  const TemporaryFolder folder;
  const auto file = folder.path() / "sparse.jpg";
  write_file(file, {});
  std::filesystem::resize_file(file, std::uintmax_t{3} << 30);
  EXPECT_EQ(read_error(file),
            "is too large: it has 3221225472 bytes, at most 1073741824 are supported");
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
