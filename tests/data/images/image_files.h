#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

// Image files of a few hundred bytes. The JPEGs were made by Pillow 9.4 and cjpeg 2.1.5; the PNGs
// are written here.
namespace skyline::tests {

using FileBytes = std::vector<std::uint8_t>;

// 16 x 8 pixels: the left half (200, 40, 40), the right half (40, 40, 200).
FileBytes baseline_jpeg();
FileBytes progressive_jpeg();
FileBytes cmyk_jpeg();        // with Adobe's marker, which are 16 bytes behind the first two
FileBytes grey_jpeg();        // 87 or 88, and 58
FileBytes arithmetic_jpeg();  // arithmetic-coded
FileBytes truncated_jpeg();   // the baseline file without its last 40 bytes

// How a PNG stores a pixel.
enum class PngColour : std::uint8_t { kGrey = 0, kRgb = 2, kPalette = 3, kRgba = 6 };

// A PNG with 8 bits per sample, `samples` row by row. A palette has 256 colours (i, 255 − i, 7).
FileBytes png(std::uint32_t width, std::uint32_t height, PngColour colour,
              const std::vector<std::uint8_t>& samples);
// A PNG whose header claims a size that its samples do not have.
FileBytes png_claiming(std::uint32_t width, std::uint32_t height);
// A PNG whose data are a deflate block of the reserved type.
FileBytes png_of_reserved_block();
// The same samples, 8 bits each, in the seven passes of Adam7.
FileBytes interlaced_png(std::uint32_t width, std::uint32_t height, PngColour colour,
                         const std::vector<std::uint8_t>& samples);
// An RGB image of one colour.
FileBytes plain_png(std::uint32_t width, std::uint32_t height, std::uint8_t red, std::uint8_t green,
                    std::uint8_t blue);

// A progressive grey JPEG of one level: a scan for the means and `scans` that say nothing.
FileBytes jpeg_of_scans(std::uint32_t width, std::uint32_t height, int scans);

// An EXIF block (a TIFF file) whose first directory has an orientation, and whose second, that of a
// thumbnail, has another.
FileBytes exif_block(int orientation, bool big_endian);
// The file with a block as JPEG's segment APP1 before all others, or as PNG's chunk eXIf before or
// behind its data.
FileBytes jpeg_with_exif(const FileBytes& jpeg, const FileBytes& block);
FileBytes png_with_exif(const FileBytes& png, const FileBytes& block, bool behind_data = false);

// Writes a file and the folders above it.
void write_file(const std::filesystem::path& path, const FileBytes& bytes);
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace skyline::tests
