#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/byte_reader.h"
#include "data/dataset.h"

namespace skyline {

// The content of an IDX file of unsigned bytes (type 0x08), the first dimension outermost.
struct IdxArray {
  std::vector<std::uint32_t> dimensions;
  std::vector<std::uint8_t> bytes;
};

// Parses an IDX file of `rank` dimensions: two zero bytes, the type, the rank, the dimensions as
// big-endian 32-bit numbers, the bytes. Memory grows with the bytes that arrive, not with the
// dimensions that the file claims. Throws DataError when the magic number, type or rank differs, a
// dimension is 0, the bytes end early, more bytes follow, or the array would exceed 2 GiB.
// Source: LeCun, Cortes, Burges, "The MNIST database", section "The IDX file format".
IdxArray parse_idx(ByteReader& reader, int rank);

// Names and statistics, which the files do not contain.
struct IdxCollection {
  std::string name;
  float mean = 0;       // of the training images, pixels in [0, 1]
  float deviation = 1;  // standard deviation of the same pixels
  std::vector<std::string> class_names;
};
IdxCollection mnist();          // mean 0.1307, standard deviation 0.3081
IdxCollection fashion_mnist();  // mean 0.2860, standard deviation 0.3530
// Returns fashion_mnist() if the folder's own name contains "fashion" (in any case), else mnist().
IdxCollection idx_collection_of(const std::filesystem::path& folder);

// MNIST and its drop-in replacements: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte, each with or without ".gz", and with "." instead of "-" before
// "idx" as on some mirrors. The content shows whether a file is gzip'd.
// Images are N × 1 × height × width; read() returns (pixel / 255 − mean) / deviation.
class IdxDataset : public Dataset {
 public:
  // Reads both files of the split into memory. Throws DataError naming the file: as parse_idx does,
  // and when a file is missing or unreadable, images and labels differ in number, or a label has no
  // class.
  IdxDataset(const std::filesystem::path& folder, Split split, IdxCollection collection);

  const std::string& name() const noexcept override { return collection_.name; }
  std::size_t size() const noexcept override { return labels_.size(); }
  ImageShape image_shape() const noexcept override { return shape_; }
  const std::vector<std::string>& class_names() const noexcept override {
    return collection_.class_names;
  }
  void read(const Sample& sample, float* image, std::int32_t* label) const override;

 private:
  IdxCollection collection_;
  ImageShape shape_;
  std::vector<std::uint8_t> pixels_;
  std::vector<std::uint8_t> labels_;
  std::array<float, 256> normalised_;  // for each pixel value
};

}  // namespace skyline
