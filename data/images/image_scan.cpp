#include "data/images/image_scan.h"

#include <algorithm>

#include "data/host.h"
#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_header.h"

namespace skyline {
namespace {

// The result of decoding one file.
struct Finding {
  std::uint64_t bytes = 0;
  std::uint32_t width = 0, height = 0;
  bool turned = false;
  std::string kind;     // empty if unreadable
  std::string problem;  // set if unreadable
};

Finding look_at(const std::string& path) {
  Finding finding;
  try {
    const std::vector<std::uint8_t> file = read_image_file(path);
    finding.bytes = file.size();
    const DecodedImage image = decode_image(file);
    finding.width = image.header.width;
    finding.height = image.header.height;
    finding.turned = image.header.orientation != 1;
    finding.kind = image.header.kind;
  } catch (const ImageError& error) {
    finding.problem = error.what();
  }
  return finding;
}

void add(ImageScan& scan, const ImageFiles& files, std::size_t index, bool train,
         const Finding& finding) {
  ImageScan::ClassCounts& counts = scan.classes[static_cast<std::size_t>(files.files[index].label)];
  const std::string path = files.path(index);
  scan.bytes += finding.bytes;
  if (finding.kind.empty()) {
    ++counts.bad;
    scan.bad.push_back({path, finding.problem});
    return;
  }
  ++(train ? counts.train : counts.test);
  scan.turned += finding.turned ? 1 : 0;
  scan.add(finding.kind, 1, {finding.width, finding.height, path});
}

}  // namespace

void ImageScan::add(const std::string& kind, std::size_t count, const Size& size) {
  formats[kind] += count;
  if (smallest.pixels() == 0 || size.pixels() < smallest.pixels()) smallest = size;
  if (size.pixels() > largest.pixels()) largest = size;
}

ImageScan scan_images(const ImageCollection& collection, std::size_t threads,
                      const std::function<void(std::size_t done, std::size_t images)>& progress) {
  const std::size_t train = collection.train.files.size();
  std::vector<Finding> findings(train + collection.test.files.size());
  parallel_for(
      findings.size(), threads,
      [&](std::size_t, std::size_t i) {
        findings[i] =
            look_at(i < train ? collection.train.path(i) : collection.test.path(i - train));
      },
      [&](std::size_t done) {
        if (progress) progress(done, findings.size());
      });
  ImageScan scan{.name = collection.name, .class_names = collection.class_names};
  scan.images = findings.size();
  scan.classes.resize(collection.class_names.size());
  for (std::size_t i = 0; i < findings.size(); ++i) {
    const bool of_train = i < train;
    add(scan, of_train ? collection.train : collection.test, of_train ? i : i - train, of_train,
        findings[i]);
  }
  std::ranges::sort(scan.bad, {}, &BadImage::path);
  return scan;
}

}  // namespace skyline
