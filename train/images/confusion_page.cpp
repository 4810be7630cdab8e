// The page of an evaluation.
#include <fmt/format.h>
#include <zlib.h>

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

constexpr std::size_t kPairs = 12, kPicturesOfPair = 5;  // at most 60 pictures of 12 KiB
constexpr int kPictureSide = 64;                         // pixels, at most

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

void append_number(std::string& bytes, std::uint32_t number) {
  for (const int shift : {24, 16, 8, 0}) bytes.push_back(static_cast<char>(number >> shift));
}

// Appends a chunk of a PNG: its length, its type, its content, the checksum of both.
void append_chunk(std::string& png, const std::string& type, const std::string& content) {
  append_number(png, static_cast<std::uint32_t>(content.size()));
  const std::string body = type + content;
  png += body;
  append_number(png,
                static_cast<std::uint32_t>(crc32(0, reinterpret_cast<const Bytef*>(body.data()),
                                                 static_cast<uInt>(body.size()))));
}

// Source: W3C, "Portable Network Graphics (PNG) specification"; 8 bits a sample, rows unfiltered.
std::string png_of(const Picture& picture) {
  std::string header, rows;
  append_number(header, static_cast<std::uint32_t>(picture.width));
  append_number(header, static_cast<std::uint32_t>(picture.height));
  header += std::string("\x08\x02\x00\x00\x00", 5);
  const std::size_t row = static_cast<std::size_t>(picture.width) * 3;
  for (std::size_t begin = 0; begin < picture.levels.size(); begin += row) {
    rows.push_back('\0');
    rows.append(reinterpret_cast<const char*>(picture.levels.data()) + begin, row);
  }
  uLongf size = compressBound(static_cast<uLong>(rows.size()));
  std::string packed(size, '\0');
  if (compress2(reinterpret_cast<Bytef*>(packed.data()), &size,
                reinterpret_cast<const Bytef*>(rows.data()), static_cast<uLong>(rows.size()),
                Z_BEST_COMPRESSION) != Z_OK) {
    throw std::runtime_error("a picture cannot be compressed: no memory");
  }
  packed.resize(size);
  std::string png = "\x89PNG\r\n\x1a\n";
  append_chunk(png, "IHDR", header);
  append_chunk(png, "IDAT", packed);
  append_chunk(png, "IEND", "");
  return png;
}

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      word = word << 8 | (j < bytes.size() ? static_cast<unsigned char>(bytes[j]) : 0u);
    }
    for (const int shift : {18, 12, 6, 0}) text.push_back(kDigits[word >> shift & 63]);
  }
  const std::size_t missing = (3 - bytes.size() % 3) % 3;
  return text.replace(text.size() - missing, missing, missing, '=');
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
  wrong.resize(std::min(wrong.size(), kPairs));
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
