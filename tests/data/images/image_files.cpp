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
                      const FileBytes& data, bool interlaced = false) {
  FileBytes file = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  FileBytes header;
  append(header, width);
  append(header, height);
  for (const int byte : {8, static_cast<int>(colour), 0, 0, interlaced ? 1 : 0}) {
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

FileBytes interlaced_png(std::uint32_t width, std::uint32_t height, PngColour colour,
                         const std::vector<std::uint8_t>& samples) {
  struct Pass {
    std::uint32_t x, y, dx, dy;
  };
  constexpr Pass kPasses[] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                              {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
  const std::size_t pixel = samples.size() / (std::size_t{width} * height);
  FileBytes rows;
  for (const Pass& pass : kPasses) {
    for (std::uint32_t y = pass.y; y < height && pass.x < width; y += pass.dy) {
      rows.push_back(0);  // no filter
      for (std::uint32_t x = pass.x; x < width; x += pass.dx) {
        const auto begin = samples.begin() + static_cast<std::ptrdiff_t>((y * width + x) * pixel);
        rows.insert(rows.end(), begin, begin + static_cast<std::ptrdiff_t>(pixel));
      }
    }
  }
  return png_of_data(width, height, colour, deflated(rows), true);
}

FileBytes jpeg_of_scans(std::uint32_t width, std::uint32_t height, int scans) {
  FileBytes file;
  const auto add = [&file](const FileBytes& bytes) {
    file.insert(file.end(), bytes.begin(), bytes.end());
  };
  const auto high = [](std::uint32_t number) { return static_cast<std::uint8_t>(number >> 8); };
  const auto low = [](std::uint32_t number) { return static_cast<std::uint8_t>(number); };
  add({0xff, 0xd8, 0xff, 0xdb, 0, 67, 0});  // a table of steps of 1
  add(FileBytes(64, 1));
  add({0xff, 0xc2, 0, 11, 8, high(height), low(height), high(width), low(width), 1, 1, 0x11, 0});
  // One code of one bit for the means: no change; and one for the rest: 2^14 blocks have nothing.
  for (const std::uint8_t table : {std::uint8_t{0x00}, std::uint8_t{0x10}}) {
    add({0xff, 0xc4, 0, 20, table, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    file.push_back(table == 0 ? 0x00 : 0xe0);
  }
  add({0xff, 0xda, 0, 8, 1, 1, 0x00, 0, 0, 0});
  const std::uint32_t blocks = ((width + 7) / 8) * ((height + 7) / 8);
  file.insert(file.end(), (blocks + 7) / 8, 0);
  const std::size_t runs = (blocks + 32766) / 32767;
  std::string bits;
  for (std::size_t i = 0; i < runs; ++i) bits += "0" + std::string(14, '1');
  bits.resize((bits.size() + 7) / 8 * 8, '1');
  for (int scan = 0; scan < scans; ++scan) {
    add({0xff, 0xda, 0, 8, 1, 1, 0x00, 1, 63, 0x00});
    for (std::size_t i = 0; i < bits.size(); i += 8) {
      file.push_back(static_cast<std::uint8_t>(std::stoi(bits.substr(i, 8), nullptr, 2)));
      if (file.back() == 0xff) file.push_back(0);
    }
  }
  add({0xff, 0xd9});
  return file;
}

FileBytes exif_block(int orientation, bool big_endian) {
  FileBytes block;
  const auto add = [&](std::uint32_t number, int bytes) {
    for (int i = 0; i < bytes; ++i) {
      block.push_back(static_cast<std::uint8_t>(number >> 8 * (big_endian ? bytes - 1 - i : i)));
    }
  };
  const auto add_directory = [&](std::uint32_t value, std::uint32_t next) {
    add(2, 2);
    for (const std::uint32_t tag : {0x0100u, 0x0112u}) {  // the width, the orientation
      add(tag, 2);
      add(3, 2);  // 16 bits
      add(1, 4);
      add(tag == 0x0100 ? 640 : value, 2);
      add(0, 2);
    }
    add(next, 4);
  };
  block.assign(2, static_cast<std::uint8_t>(big_endian ? 'M' : 'I'));
  add(42, 2);
  add(8, 4);
  add_directory(static_cast<std::uint32_t>(orientation), 38);
  add_directory(orientation == 1 ? 3 : 1, 0);
  return block;
}

FileBytes jpeg_with_exif(const FileBytes& jpeg, const FileBytes& block) {
  const std::size_t length = 8 + block.size();
  FileBytes segment = {0xff,
                       0xe1,
                       static_cast<std::uint8_t>(length >> 8),
                       static_cast<std::uint8_t>(length),
                       'E',
                       'x',
                       'i',
                       'f',
                       0,
                       0};
  segment.insert(segment.end(), block.begin(), block.end());
  FileBytes file = jpeg;
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  return file;
}

FileBytes png_with_exif(const FileBytes& png, const FileBytes& block, bool behind_data) {
  constexpr std::ptrdiff_t kHeaderBytes = 33, kEndBytes = 12;
  FileBytes chunk, file = png;
  append_chunk(chunk, "eXIf", block);
  file.insert(behind_data ? file.end() - kEndBytes : file.begin() + kHeaderBytes, chunk.begin(),
              chunk.end());
  return file;
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
