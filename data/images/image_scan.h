#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "data/images/bad_images.h"
#include "data/images/image_collection.h"

namespace skyline {

// Statistics over every image of both splits.
struct ImageScan {
  struct Size {
    std::uint32_t width = 0;
    std::uint32_t height = 0;
    std::string path;
    std::uint64_t pixels() const noexcept { return std::uint64_t{width} * height; }
  };
  struct ClassCounts {
    std::size_t train = 0;  // readable images
    std::size_t test = 0;
    std::size_t bad = 0;  // unreadable images of both splits
  };

  std::string name;                      // of the data
  std::vector<std::string> class_names;  // in the order of labels
  std::size_t images = 0;                // files, or records of IDX files
  std::uint64_t bytes = 0;
  std::vector<ClassCounts> classes;            // by label
  std::map<std::string, std::size_t> formats;  // readable images by kind: "progressive JPEG"
  std::size_t turned = 0;     // readable images that are not stored upright, as their EXIF says
  Size smallest, largest;     // readable images with the fewest and most pixels, the first of ties
  std::vector<BadImage> bad;  // sorted by path, then in the order of records

  // Counts readable images of one kind and size.
  void add(const std::string& kind, std::size_t count, const Size& size);
};

// Decodes every image of both splits. The result is the same for any number of threads.
// Calls progress(done, images) on the caller's thread.
ImageScan scan_images(const ImageCollection& collection, std::size_t threads,
                      const std::function<void(std::size_t done, std::size_t images)>& progress);

}  // namespace skyline
