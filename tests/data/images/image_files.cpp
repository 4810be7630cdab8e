#include "tests/data/images/image_files.h"

#include <zlib.h>

#include <fstream>
#include <stdexcept>
#include <string_view>

namespace skyline::tests {
namespace {

// Each JPEG has 16 x 8 pixels: the left half (200, 40, 40), the right half (40, 40, 200).
constexpr std::string_view kBaselineHex =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f1320151312"
    "1213271c1e17202e2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a5152"
    "4fffdb0043010e0e0e131113261515264f352d354f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
    "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc000110800080010030111000211010311"
    "01ffc40014000100000000000000000000000000000005ffc400141001000000000000000000000000000000"
    "00ffc4001501010100000000000000000000000000000604ffc4001411010000000000000000000000000000"
    "0000ffda000c03010002110311003f00190170d3d0a7ffd9";

constexpr std::string_view kProgressiveHex =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f1320151312"
    "1213271c1e17202e2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a5152"
    "4fffdb0043010e0e0e131113261515264f352d354f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
    "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc200110800080010030111000211010311"
    "01ffc40014000100000000000000000000000000000004ffc400150101010000000000000000000000000000"
    "0504ffda000c0301000210031000000114eb99f13fffc40014100100000000000000000000000000000010ff"
    "da00080101000105023fffc40014110100000000000000000000000000000010ffda0008010301013f013fff"
    "c40014110100000000000000000000000000000010ffda0008010201013f013fffc400141001000000000000"
    "00000000000000000010ffda0008010100063f023fffc40014100100000000000000000000000000000010ff"
    "da0008010100013f213fffda000c03010002000300000010d7ffc40014110100000000000000000000000000"
    "000010ffda0008010301013f103fffc40014110100000000000000000000000000000010ffda000801020101"
    "3f103fffc40014100100000000000000000000000000000010ffda0008010100013f103fffd9";

constexpr std::string_view kCmykHex =
    "ffd8ffee000e41646f626500640000000000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f13201513121213"
    "271c1e17202e2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a51524fff"
    "c000140800080010044311004d11005911004b1100ffc4001600010101000000000000000000000000000607"
    "00ffc40014100100000000000000000000000000000000ffda000e0443004d0059004b00003f00581212a723"
    "acb133ffd9";

// In grey: 87 or 88, and 58.
constexpr std::string_view kGreyHex =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f1320151312"
    "1213271c1e17202e2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a5152"
    "4fffc0000b080008001001011100ffc40014000100000000000000000000000000000005ffc4001410010000"
    "0000000000000000000000000000ffda0008010100003f00186bffd9";

constexpr std::string_view kArithmeticHex =
    "ffd8ffe000104a46494600010100000100010000ffdb0043000d090a0b0a080d0b0a0b0e0e0d0f1320151312"
    "1213271c1e17202e2931302e292d2c333a4a3e333646372c2d405741464c4e525352323e5a615a50604a5152"
    "4fffdb0043010e0e0e131113261515264f352d354f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f"
    "4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4f4fffc900110800080010030111000211010311"
    "01ffcc000a0010100501101105ffda000c03010002110311003f00ff003931f37dc492023530ffd9";

FileBytes from_hex(std::string_view digits) {
  FileBytes bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    bytes.push_back(static_cast<std::uint8_t>(std::stoi(std::string(digits.substr(i, 2)), {}, 16)));
  }
  return bytes;
}

void append(FileBytes& bytes, std::uint32_t number) {
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes.push_back(static_cast<std::uint8_t>(number >> shift));
  }
}

void append_chunk(FileBytes& file, std::string_view type, const FileBytes& content) {
  append(file, static_cast<std::uint32_t>(content.size()));
  const std::size_t start = file.size();
  file.insert(file.end(), type.begin(), type.end());
  file.insert(file.end(), content.begin(), content.end());
  const uLong sum = crc32(0, file.data() + start, static_cast<uInt>(file.size() - start));
  append(file, static_cast<std::uint32_t>(sum));
}

FileBytes deflated(const FileBytes& bytes) {
  FileBytes out(compressBound(static_cast<uLong>(bytes.size())));
  uLongf length = static_cast<uLongf>(out.size());
  if (compress(out.data(), &length, bytes.data(), static_cast<uLong>(bytes.size())) != Z_OK) {
    throw std::runtime_error("compress failed");
  }
  out.resize(length);
  return out;
}

// `data` are the compressed rows.
FileBytes png_of_data(std::uint32_t width, std::uint32_t height, PngColour colour,
                      const FileBytes& data) {
  FileBytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  FileBytes header;
  append(header, width);
  append(header, height);
  for (const int byte : {8, static_cast<int>(colour), 0, 0, 0}) {
    header.push_back(static_cast<std::uint8_t>(byte));
  }
  append_chunk(file, "IHDR", header);
  if (colour == PngColour::kPalette) {
    FileBytes palette;
    for (int i = 0; i < 256; ++i) {
      for (const int part : {i, 255 - i, 7}) palette.push_back(static_cast<std::uint8_t>(part));
    }
    append_chunk(file, "PLTE", palette);
  }
  append_chunk(file, "IDAT", data);
  append_chunk(file, "IEND", {});
  return file;
}

// `rows` are filtered rows: each begins with the filter's byte, 0.
FileBytes png_of_rows(std::uint32_t width, std::uint32_t height, PngColour colour,
                      const FileBytes& rows) {
  return png_of_data(width, height, colour, deflated(rows));
}

}  // namespace

FileBytes baseline_jpeg() { return from_hex(kBaselineHex); }
FileBytes progressive_jpeg() { return from_hex(kProgressiveHex); }
FileBytes cmyk_jpeg() { return from_hex(kCmykHex); }
FileBytes grey_jpeg() { return from_hex(kGreyHex); }
FileBytes arithmetic_jpeg() { return from_hex(kArithmeticHex); }

FileBytes truncated_jpeg() {
  FileBytes bytes = baseline_jpeg();
  bytes.erase(bytes.end() - 40, bytes.end());
  return bytes;
}

FileBytes png(std::uint32_t width, std::uint32_t height, PngColour colour,
              const std::vector<std::uint8_t>& samples) {
  FileBytes rows;
  const std::size_t row = samples.size() / height;
  for (std::size_t y = 0; y < height; ++y) {
    rows.push_back(0);  // no filter
    const auto begin = samples.begin() + static_cast<std::ptrdiff_t>(y * row);
    rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(row));
  }
  return png_of_rows(width, height, colour, rows);
}

FileBytes png_claiming(std::uint32_t width, std::uint32_t height) {
  return png_of_rows(width, height, PngColour::kRgb, FileBytes(10));
}

FileBytes png_of_reserved_block() {
  return png_of_data(8, 8, PngColour::kRgb, {0x78, 0x01, 0x07, 0x00, 0x00, 0x00});
}

FileBytes plain_png(std::uint32_t width, std::uint32_t height, std::uint8_t red, std::uint8_t green,
                    std::uint8_t blue) {
  std::vector<std::uint8_t> samples;
  for (std::uint32_t i = 0; i < width * height; ++i) {
    samples.insert(samples.end(), {red, green, blue});
  }
  return png(width, height, PngColour::kRgb, samples);
}

void write_file(const std::filesystem::path& path, const FileBytes& bytes) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  if (!file.flush()) throw std::runtime_error("cannot write " + path.string());
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  write_file(path, FileBytes(text.begin(), text.end()));
}

}  // namespace skyline::tests
