#include "data/images/decoding/image_decoder.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csetjmp>
#include <cstdio>  // before jpeglib.h, which needs FILE
#include <cstring>
#include <string>
#include <system_error>
#include <utility>

#include <jpeglib.h>

#include <jerror.h>

// Both libraries report errors by a function that must not return; ours leave by longjmp(), which
// runs no destructors. So the frames between setjmp() and the library hold plain values only; what
// must be freed belongs to an object in the frame above.

namespace skyline {
namespace {

using Bytes = std::span<const std::uint8_t>;
constexpr std::size_t kColours = 3;

// The place of decoded rows: `width` × `height` pixels of three channels.
struct Rows {
  std::uint8_t* first;
  std::size_t width, height;

  std::uint8_t* operator[](std::size_t row) const { return first + row * width * kColours; }
};

// libjpeg's state and what its callbacks need.
struct JpegDecoder {
  jpeg_decompress_struct state{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf back{};
  std::size_t file_bytes = 0;
  std::array<char, JMSG_LENGTH_MAX> reason{};  // of a failure
  bool damaged = true;                         // otherwise the failure is a limit of ours

  JpegDecoder() = default;
  JpegDecoder(const JpegDecoder&) = delete;
  JpegDecoder& operator=(const JpegDecoder&) = delete;
  ~JpegDecoder() { jpeg_destroy_decompress(&state); }
};

JpegDecoder& decoder_of(j_common_ptr state) {
  return *static_cast<JpegDecoder*>(state->client_data);
}

[[noreturn]] void leave_jpeg(j_common_ptr state) {
  JpegDecoder& decoder = decoder_of(state);
  state->err->format_message(state, decoder.reason.data());
  std::longjmp(decoder.back, 1);
}

[[noreturn]] void refuse_jpeg(JpegDecoder& decoder) {
  decoder.damaged = false;
  std::longjmp(decoder.back, 1);
}

// Decides which of libjpeg's warnings are damage. Other programs, too, read files with bytes
// between segments, odd revisions and scans, and those that fill a missing end with grey behind a
// mark.
void judge_warning(j_common_ptr state, int level) {
  if (level >= 0) return;  // a trace
  switch (state->err->msg_code) {
    case JWRN_HUFF_BAD_CODE:
    case JWRN_JPEG_EOF:
    case JWRN_MUST_RESYNC:
      leave_jpeg(state);
    default:
      return;
  }
}

// Ends a file whose scans cost more than its bytes justify. Each scan visits every pixel, and a
// scan of ten bytes can say that nothing changes, so 10 KB could take minutes. Photographs have
// about ten scans and spend more than a byte on 64 pixels of one; 2^30 take about half a second.
void limit_scans(j_common_ptr state) {
  constexpr std::uint64_t kFreePixels = std::uint64_t{1} << 30, kPixelsPerByte = 64;
  JpegDecoder& decoder = decoder_of(state);
  const jpeg_decompress_struct& jpeg = decoder.state;
  const std::uint64_t pixels = std::uint64_t{jpeg.image_width} * jpeg.image_height *
                               static_cast<std::uint64_t>(jpeg.input_scan_number);
  if (pixels <= kFreePixels + kPixelsPerByte * decoder.file_bytes) return;
  std::snprintf(decoder.reason.data(), decoder.reason.size(),
                "has too many scans: %d of %u x %u in %zu bytes", jpeg.input_scan_number,
                jpeg.image_width, jpeg.image_height, decoder.file_bytes);
  refuse_jpeg(decoder);
}

// libjpeg holds the coefficients of a file of several scans, two bytes each.
void limit_coefficients(JpegDecoder& decoder) {
  constexpr std::uint64_t kMostBytes = 1'000'000'000;
  if (!jpeg_has_multiple_scans(&decoder.state)) return;
  std::uint64_t bytes = 0;
  for (int i = 0; i < decoder.state.num_components; ++i) {
    const jpeg_component_info& component = decoder.state.comp_info[i];
    bytes += std::uint64_t{component.width_in_blocks} * component.height_in_blocks * sizeof(JBLOCK);
  }
  if (bytes <= kMostBytes) return;
  std::snprintf(decoder.reason.data(), decoder.reason.size(),
                "is too large: the coefficients of its scans take %llu bytes, at most %llu are "
                "supported",
                static_cast<unsigned long long>(bytes),
                static_cast<unsigned long long>(kMostBytes));
  refuse_jpeg(decoder);
}

std::uint8_t product(int a, int b) {  // a · b / 255, rounded
  const int scaled = a * b + 128;
  return static_cast<std::uint8_t>((scaled + (scaled >> 8)) >> 8);
}

// Reads a row of four channels as RGB. The file's levels count light, not ink, as Adobe's programs
// began to store them: red = C · K / 255. Files without Adobe's marker do so, too, as nearly all
// come from converters that copy the levels; Pillow and browsers read them alike.
void read_cmyk_row(jpeg_decompress_struct& jpeg, JSAMPARRAY levels, std::uint8_t* out) {
  jpeg_read_scanlines(&jpeg, levels, 1);
  const std::uint8_t* in = levels[0];
  for (JDIMENSION x = 0; x < jpeg.output_width; ++x, in += 4) {
    for (int channel = 0; channel < 3; ++channel) *out++ = product(in[channel], in[3]);
  }
}

// Returns false if the file cannot be decoded; the decoder then has the reason.
bool decode_jpeg(JpegDecoder& decoder, const std::uint8_t* file, const Rows& rows) {
  jpeg_decompress_struct& jpeg = decoder.state;
  if (setjmp(decoder.back) != 0) return false;
  jpeg_create_decompress(&jpeg);  // keeps `err` and `client_data`
  jpeg_mem_src(&jpeg, file, static_cast<unsigned long>(decoder.file_bytes));
  jpeg_read_header(&jpeg, TRUE);
  if (jpeg.image_width != rows.width || jpeg.image_height != rows.height) {
    ERREXIT(&jpeg, JERR_SOF_DUPLICATE);  // another frame than read_image_header() found
  }
  limit_coefficients(decoder);
  decoder.progress.progress_monitor = limit_scans;
  jpeg.progress = &decoder.progress;
  const bool cmyk = jpeg.num_components == 4;
  jpeg.out_color_space = cmyk ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&jpeg);
  JSAMPARRAY levels = nullptr;
  if (cmyk) {
    levels = jpeg.mem->alloc_sarray(reinterpret_cast<j_common_ptr>(&jpeg), JPOOL_IMAGE,
                                    jpeg.output_width * 4, 1);
  }
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = rows[jpeg.output_scanline];
    if (cmyk) {
      read_cmyk_row(jpeg, levels, row);
    } else {
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
  }
  jpeg_finish_decompress(&jpeg);  // reads to the end's mark
  return true;
}

void decode_jpeg(Bytes file, const Rows& rows) {
  JpegDecoder decoder;
  decoder.file_bytes = file.size();
  decoder.state.err = jpeg_std_error(&decoder.errors);
  decoder.state.client_data = &decoder;
  decoder.errors.error_exit = leave_jpeg;
  decoder.errors.emit_message = judge_warning;
  if (decode_jpeg(decoder, file.data(), rows)) return;
  const std::string reason = decoder.reason.data();
  throw ImageError(decoder.damaged ? "cannot be decoded: damaged data (" + reason + ")" : reason);
}

// libpng's state and what its callbacks need.
struct PngDecoder {
  png_structp state = nullptr;
  png_infop info = nullptr;
  std::jmp_buf back{};
  Bytes rest;                            // not yet read
  std::uint64_t most_rest = UINT64_MAX;  // of the file that may still be read for pixels
  std::array<char, 128> reason{};        // of a failure

  PngDecoder() = default;
  PngDecoder(const PngDecoder&) = delete;
  PngDecoder& operator=(const PngDecoder&) = delete;
  ~PngDecoder() { png_destroy_read_struct(&state, &info, nullptr); }
};

[[noreturn]] void leave_png(png_structp state, png_const_charp reason) {
  PngDecoder& decoder = *static_cast<PngDecoder*>(png_get_error_ptr(state));
  std::snprintf(decoder.reason.data(), decoder.reason.size(), "%s", reason);
  std::longjmp(decoder.back, 1);
}

void ignore_warning(png_structp, png_const_charp) {}

constexpr const char* kTooMuchData = "has more data than its width and height allow";

void read_png(png_structp state, png_bytep out, std::size_t bytes) {
  PngDecoder& decoder = *static_cast<PngDecoder*>(png_get_io_ptr(state));
  if (bytes > decoder.rest.size()) png_error(state, "the file ends early");
  if (bytes > decoder.most_rest) png_error(state, kTooMuchData);
  if (decoder.most_rest != UINT64_MAX) decoder.most_rest -= bytes;
  std::memcpy(out, decoder.rest.data(), bytes);
  decoder.rest = decoder.rest.subspan(bytes);
}

// Asks for eight bits of red, green and blue; alpha is dropped. Texts, profiles and the like are
// skipped unread: their compressed forms could take much time and memory.
void ask_for_rgb(PngDecoder& decoder) {
  png_structp png = decoder.state;
  png_set_keep_unknown_chunks(png, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
  png_read_info(png, decoder.info);
  const int colour = png_get_color_type(png, decoder.info);
  if (colour == PNG_COLOR_TYPE_PALETTE) png_set_palette_to_rgb(png);
  if (colour == PNG_COLOR_TYPE_GRAY) png_set_expand_gray_1_2_4_to_8(png);
  if ((colour & PNG_COLOR_MASK_COLOR) == 0) png_set_gray_to_rgb(png);
  png_set_strip_16(png);
  png_set_strip_alpha(png);
}

// Returns false if the file cannot be decoded; the decoder then has the reason.
bool decode_png(PngDecoder& decoder, const Rows& rows) {
  constexpr std::size_t kFreeRest = 4096;
  png_structp png = decoder.state;
  if (setjmp(decoder.back) != 0) return false;
  ask_for_rgb(decoder);
  const int passes = png_set_interlace_handling(png);
  png_read_update_info(png, decoder.info);
  const std::size_t row_bytes = png_get_rowbytes(png, decoder.info);
  if (row_bytes != rows.width * kColours) png_error(png, "rows of another length");
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t y = 0; y < rows.height; ++y) {
      // libpng inflates to the end of the data, and 1 MB can hold 1 GB. The last row, or pass,
      // needs less than these bytes, even with 16 bits and alpha and not compressed.
      if (pass == passes - 1 && y == (passes == 1 ? rows.height - 1 : 0)) {
        decoder.most_rest = kFreeRest + 6 * row_bytes * (rows.height - y);
      }
      png_read_row(png, rows[y], nullptr);
    }
  }
  decoder.most_rest = UINT64_MAX;
  png_read_end(png, nullptr);
  return true;
}

void decode_png(Bytes file, const Rows& rows) {
  PngDecoder decoder;
  decoder.rest = file;
  decoder.state =
      png_create_read_struct(PNG_LIBPNG_VER_STRING, &decoder, leave_png, ignore_warning);
  if (decoder.state != nullptr) decoder.info = png_create_info_struct(decoder.state);
  if (decoder.info == nullptr) throw std::bad_alloc();
  png_set_read_fn(decoder.state, &decoder, read_png);
  if (decode_png(decoder, rows)) return;
  const std::string reason = decoder.reason.data();
  throw ImageError(reason == kTooMuchData ? reason
                                          : "cannot be decoded: damaged data (" + reason + ")");
}

// Throws ImageError if the file's bytes cannot hold its pixels, before memory is taken for them.
// The first scan of a JPEG spends a bit or more on a block of 64 pixels, for half of the blocks at
// least; deflate expands at most 1032-fold.
void require_enough_bytes(std::size_t bytes, const ImageHeader& header, const Rows& rows) {
  constexpr std::uint64_t kMostJpegPixels = 1024, kMostInflation = 1032;
  const std::uint64_t row_bits = rows.width * static_cast<std::uint64_t>(header.bits_per_pixel);
  const bool enough = header.format == ImageFormat::kJpeg
                          ? rows.width * rows.height <= kMostJpegPixels * bytes
                          : (row_bits / 8 + 1) * rows.height <= kMostInflation * bytes;
  if (enough) return;
  throw ImageError("is damaged: its " + std::to_string(bytes) + " bytes cannot hold " +
                   std::to_string(rows.width) + " x " + std::to_string(rows.height) + " pixels");
}

DecodedPixels make_pixels(std::size_t width, std::size_t height) {
  return {std::make_unique_for_overwrite<std::uint8_t[]>(width * height * kColours),
          static_cast<int>(width), static_cast<int>(height)};
}

// Turns the pixels as they are stored into those of the header. Exif 2.3, tag 0x0112: row 0 of the
// stored pixels is the top, top, bottom, bottom, left, right, right, left of the picture, column 0
// its left, right, right, left, top, top, bottom, bottom.
DecodedPixels turned(const DecodedPixels& stored, int orientation) {
  const bool exchanged = orientation > 4;
  const bool row_at_end =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const bool column_at_end = orientation == 2 || orientation == 3 || orientation >= 7;
  const auto width = static_cast<std::size_t>(stored.width),
             height = static_cast<std::size_t>(stored.height);
  DecodedPixels out = exchanged ? make_pixels(height, width) : make_pixels(width, height);
  const std::ptrdiff_t pixel = kColours, line = pixel * out.width;
  const std::ptrdiff_t row_step = (exchanged ? pixel : line) * (row_at_end ? -1 : 1);
  const std::ptrdiff_t column_step = (exchanged ? line : pixel) * (column_at_end ? -1 : 1);
  std::uint8_t* first = out.data.get();
  if (row_at_end) first -= row_step * (stored.height - 1);
  if (column_at_end) first -= column_step * (stored.width - 1);
  constexpr int kStrip = 16;  // rows at a time: their pixels of one column share a cache line
  for (int top = 0; top < stored.height; top += kStrip) {
    const int bottom = std::min(top + kStrip, stored.height);
    for (int x = 0; x < stored.width; ++x) {
      for (int y = top; y < bottom; ++y) {
        std::memcpy(first + y * row_step + x * column_step,
                    stored.data.get() + (std::ptrdiff_t{y} * stored.width + x) * pixel, kColours);
      }
    }
  }
  return out;
}

DecodedPixels decode(Bytes file, const ImageHeader& header) {
  Rows rows{.first = nullptr, .width = header.width, .height = header.height};
  if (header.orientation > 4) std::swap(rows.width, rows.height);
  require_enough_bytes(file.size(), header, rows);
  DecodedPixels pixels = make_pixels(rows.width, rows.height);
  rows.first = pixels.data.get();
  header.format == ImageFormat::kPng ? decode_png(file, rows) : decode_jpeg(file, rows);
  return header.orientation == 1 ? std::move(pixels) : turned(pixels, header.orientation);
}

struct CloseFile {
  void operator()(std::FILE* file) const noexcept { std::fclose(file); }
};

std::string system_message(int error) { return std::generic_category().message(error); }

}  // namespace

DecodedImage decode_image(Bytes file, std::uint64_t most_pixels) {
  DecodedImage image{.header = read_image_header(file)};
  const ImageHeader& header = image.header;
  if (std::uint64_t{header.width} * header.height > most_pixels) {
    throw ImageError("is too large: its header claims " + std::to_string(header.width) + " x " +
                     std::to_string(header.height) + ", at most " + std::to_string(most_pixels) +
                     " pixels are supported");
  }
  try {
    image.pixels = decode(file, header);
  } catch (const ImageError&) {
    if (!ends_early(file, header.format)) throw;
    throw ImageError("file ends early, after " + std::to_string(file.size()) + " bytes");
  }
  return image;
}

std::vector<std::uint8_t> read_image_file(const std::filesystem::path& path) {
  constexpr std::uintmax_t kMostBytes = std::uintmax_t{1} << 30;
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (status.type() == std::filesystem::file_type::not_found) throw ImageError("no such file");
  if (error) throw ImageError("cannot be read: " + error.message());
  // Opening a pipe would wait for its writer.
  if (!std::filesystem::is_regular_file(status)) throw ImageError("is not a file");
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "rb"));
  if (file == nullptr) throw ImageError("cannot be read: " + system_message(errno));
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (error) throw ImageError("cannot be read: " + error.message());
  if (bytes > kMostBytes) {
    throw ImageError("is too large: it has " + std::to_string(bytes) + " bytes, at most " +
                     std::to_string(kMostBytes) + " are supported");
  }
  std::vector<std::uint8_t> contents(bytes);
  contents.resize(std::fread(contents.data(), 1, contents.size(), file.get()));
  if (std::ferror(file.get()) != 0) throw ImageError("cannot be read: " + system_message(errno));
  return contents;
}

}  // namespace skyline
