#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "data/byte_reader.h"
#include "data/dataset.h"

namespace skyline {

// The contents of one IDX file of unsigned bytes (type 0x08), the first dimension outermost.
struct IdxArray {
  std::vector<std::uint32_t> dimensions;
  std::vector<std::uint8_t> bytes;
};

// Parses an IDX file of `rank` dimensions: two zero bytes, the type, the rank, the dimensions as
// big-endian 32-bit numbers, the bytes. Memory follows the bytes that arrive, not the dimensions
// that are claimed. Throws DataError when the magic, type or rank is another, a dimension is 0, the
// bytes end early, more follow, or the array would pass 2 GiB.
// Source: LeCun, Cortes, Burges, "The MNIST database", section "The IDX file format".
IdxArray parse_idx(ByteReader& reader, int rank);

// What the files of a folder do not say: names and statistics.
struct IdxCollection {
  std::string name;
  float mean = 0;       // of the training images, pixels in [0, 1]
  float deviation = 1;  // standard deviation of the same
  std::vector<std::string> class_names;
};
IdxCollection mnist();          // mean 0.1307, standard deviation 0.3081
IdxCollection fashion_mnist();  // mean 0.2860, standard deviation 0.3530
// fashion_mnist() when the folder's own name contains "fashion", in any case; else mnist().
IdxCollection idx_collection_of(const std::filesystem::path& folder);

// MNIST and its drop-in replacements: {train,t10k}-images-idx3-ubyte and
// {train,t10k}-labels-idx1-ubyte, each with or without ".gz"; also with "." for "-" before "idx",
// as some mirrors have it. Whether a file is gzip'd is read off its contents.
// Images are N × 1 × height × width; read() gives (pixel / 255 − mean) / deviation.
class IdxDataset : public Dataset {
 public:
  // Reads both files of the split whole. Throws DataError naming the file, as parse_idx does, and
  // when it is missing or unreadable, when images and labels differ in number, or a label has no
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
  std::array<float, 256> normalised_;  // of each pixel value
};

}  // namespace skyline
