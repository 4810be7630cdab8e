#pragma once

#include "data/images/decoding/image_header.h"

namespace skyline {

// Reads the header of a file that begins with JPEG's first marker (FF D8). Throws ImageError as
// read_image_header does.
// Also checks every Huffman table of the file: stb_image 2.27 writes past its own table when a file
// claims more than 256 symbols for one.
ImageHeader read_jpeg_header(std::span<const std::uint8_t> file);

}  // namespace skyline
