#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/images/bad_images.h"
#include "train/cli/figures.h"

namespace skyline {

// Memory that plans for a run's batches must hold, in bytes.
struct LongestBatchFacts {
  std::uint64_t live_bytes = 0;      // most bytes alive at once in one step; no arena is smaller
  std::uint64_t one_plan_bytes = 0;  // lower bound of one plan for all steps
  bool one_plan = true;              // one plan serves all; otherwise each batch has its own

  // Of one plan for all steps, above the live bytes.
  double share_above() const {
    return static_cast<double>(one_plan_bytes) / static_cast<double>(live_bytes) - 1;
  }
};

// What a run tells of its data.
struct DataResults {
  struct Words {
    std::size_t source = 0, target = 0;  // of the vocabularies
    std::size_t pairs = 0;
  };
  std::optional<std::vector<BadImage>> bad_images = {};  // of images
  std::optional<Words> words = {};                       // of text
  std::optional<LongestBatchFacts> longest_batch = {};   // if step shapes vary
};

Rows<DataResults> rows(const DataResults*);
// Lines.
std::string results_text(const DataResults& results);

// "3 images could not be read: a.jpg (file is empty); b.jpg (…); c.jpg (…)" and a newline. Names
// the first ten; empty if all could be read.
std::string bad_images_text(const std::vector<BadImage>& images);
Rows<BadImage> rows(const BadImage*);

// The hexadecimal digits of a path that is no UTF-8, which JSON cannot hold; nothing for others.
std::optional<std::string> path_bytes(const std::string& path);
// The rows of a path, which opens the file, in an answer with a member `path`.
template <typename T>
void add_path_rows(Rows<T>& rows) {
  rows.emplace_back("path", "of the file", &T::path);
  rows.emplace_back("path_bytes", "the path in hexadecimal digits; null: it is UTF-8",
                    [](const T& file) { return path_bytes(file.path); });
}
// "longest batch: 13.1 MiB alive at once; one plan for all batches takes 0.63 % more and serves
// them"
std::string longest_batch_text(const LongestBatchFacts& facts);
Rows<LongestBatchFacts> rows(const LongestBatchFacts*);

}  // namespace skyline
