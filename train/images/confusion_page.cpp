// The page of an evaluation.
#include <fmt/format.h>
#include <openssl/evp.h>
#include <png.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "data/host.h"
#include "data/images/decoding/image_resize.h"
#include "train/images/confusion.h"
#include "train/report/page.h"

namespace skyline {

extern const PageFiles kConfusionPage;

namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kListedPairs = 12, kPicturesOfPair = 5;  // at most 60 pictures of 12 KiB
constexpr int kPictureSide = 64;                               // pixels, at most

struct Picture {
  int width = 0, height = 0;
  std::vector<std::uint8_t> levels;  // height × width × 3
};

std::uint8_t level_of(float value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f) + 0.5f);
}

// Image files are shown whole; other images as the network sees them, normalisation apart.
Picture picture_of(const ImageData& data, std::size_t index) {
  const ImageShape shape = data.test->image_shape();
  Picture picture{.width = shape.width, .height = shape.height, .levels = {}};
  std::vector<float> values;
  if (data.test_images != nullptr) {
    picture.width = picture.height = data.test_images->pipeline().side;
    values.resize(static_cast<std::size_t>(picture.width) *
                  static_cast<std::size_t>(picture.height) * 3);
    data.test_images->read_resized(index, values.data());
    std::ranges::transform(values, std::back_inserter(picture.levels), level_of);
    return picture;
  }
  values.resize(shape.elements());
  std::int32_t label = 0;
  data.test->read({.index = index}, values.data(), &label);
  const auto channels = static_cast<std::size_t>(shape.channels);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto [mean, deviation] = data.normalisation.value_or(Normalisations{})[i % channels];
    const std::uint8_t level =
        level_of(255 * (values[i] * static_cast<float>(deviation) + static_cast<float>(mean)));
    picture.levels.insert(picture.levels.end(), channels == 1 ? 3 : 1, level);
  }
  return picture;
}

// Shrinks a picture to kPictureSide, in proportion.
Picture thumbnail(Picture picture) {
  const int longest = std::max(picture.width, picture.height);
  if (longest <= kPictureSide) return picture;
  const auto shrunk = [longest](int side) { return std::max(1, side * kPictureSide / longest); };
  Picture small{.width = shrunk(picture.width), .height = shrunk(picture.height), .levels = {}};
  std::vector<float> values(static_cast<std::size_t>(small.width) *
                            static_cast<std::size_t>(small.height) * 3);
  scale(picture.levels.data(), picture.width, picture.height, small.width, small.height,
        values.data());
  std::ranges::transform(values, std::back_inserter(small.levels), level_of);
  return small;
}

std::string png_of(const Picture& picture) {
  png_image image{.version = PNG_IMAGE_VERSION};
  image.width = static_cast<png_uint_32>(picture.width);
  image.height = static_cast<png_uint_32>(picture.height);
  image.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::string png(size, '\0');
  if (png_image_write_to_memory(&image, png.data(), &size, 0, picture.levels.data(), 0, nullptr) ==
      0) {
    throw std::runtime_error(fmt::format("a picture cannot be written: {}", image.message));
  }
  png.resize(size);
  return png;
}

std::string base64(const std::string& bytes) {
  std::string text((bytes.size() + 2) / 3 * 4, '\0');
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                  reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  return text;
}

std::string name_of(const ImageData& data, std::size_t index) {
  return data.collection != nullptr ? printable(data.collection->test.files[index].path)
                                    : fmt::format("image {}", index);
}

// The pairs that are confused most, each with its surest mistakes.
Json pairs_of(const Confusion& confusion, const ImageData& data) {
  using Count = std::pair<std::pair<std::size_t, std::size_t>, std::int64_t>;
  std::vector<Count> wrong;
  for (const auto& count : confusion.counts()) {
    if (count.first.first != count.first.second) wrong.push_back(count);
  }
  std::ranges::stable_sort(wrong, std::greater(), &Count::second);
  wrong.resize(std::min(wrong.size(), kListedPairs));
  Json pairs = Json::array();
  for (const auto& [pair, images] : wrong) {
    std::vector<Mistake> mistakes;
    std::ranges::copy_if(confusion.mistakes(), std::back_inserter(mistakes),
                         [pair](const Mistake& mistake) {
                           return std::pair(mistake.label, mistake.predicted) == pair;
                         });
    std::ranges::stable_sort(mistakes, std::greater(), &Mistake::probability);
    mistakes.resize(std::min(mistakes.size(), kPicturesOfPair));
    Json pictures = Json::array();
    for (const Mistake& mistake : mistakes) {
      const std::string png = png_of(thumbnail(picture_of(data, mistake.index)));
      pictures.push_back({{"name", name_of(data, mistake.index)},
                          {"probability", mistake.probability},
                          {"image", "data:image/png;base64," + base64(png)}});
    }
    pairs.push_back({{"label", pair.first},
                     {"predicted", pair.second},
                     {"images", images},
                     {"pictures", std::move(pictures)}});
  }
  return pairs;
}

}  // namespace

std::string confusion_page(const Confusion& confusion, const ImageData& data,
                           const std::string& title,
                           const std::vector<std::pair<std::string, std::string>>& facts) {
  Json counts = Json::array();
  for (const auto& [pair, images] : confusion.counts()) {
    counts.push_back({pair.first, pair.second, images});
  }
  const Json page = {{"facts", facts},
                     {"classes", value_of(confusion.classes()).json()},
                     {"counts", std::move(counts)},
                     {"pairs", pairs_of(confusion, data)}};
  return render_page(kConfusionPage, title, page_text(page));
}

}  // namespace skyline
