#include "data/images/image_collection.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <utility>

#include "data/host.h"
#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_header.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

// Returns the text of a file. Throws DataError.
std::string contents(const fs::path& file) {
  try {
    const std::vector<std::uint8_t> bytes = read_image_file(file);
    return {bytes.begin(), bytes.end()};
  } catch (const ImageError& error) {
    throw DataError(printable(file.string()), error.what());
  }
}

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view line) {
  const auto begin = line.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find_last_not_of(kBlanks) + 1 - begin);
}

// Reads one list, line by line.
class ListReader {
 public:
  // Labels must be below `classes`.
  ListReader(const fs::path& list, const fs::path& root, int classes, std::string range)
      : list_(list), classes_(classes), range_(std::move(range)) {
    files_.source = list.string();
    files_.root = (root.empty() ? list.parent_path() : root).string();
  }

  ImageFiles run() {
    const std::string text = contents(list_);
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(line.size() + 1, rest.size()));
      ++line_;
      if (const std::string_view content = trimmed(line); !content.empty()) add(content);
    }
    if (files_.files.empty()) throw DataError(printable(list_.string()), "names no images");
    return std::move(files_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(printable(list_.string()), "line " + std::to_string(line_) + ": " + what);
  }

  void add(std::string_view content) {
    const auto blank = content.find_last_of(kBlanks);
    if (blank == std::string_view::npos) {
      fail("expected a path and a label, got '" + printable(content) + "'");
    }
    const std::int32_t label = label_of(content.substr(blank + 1));
    const std::string path(trimmed(content.substr(0, blank)));
    const fs::path whole = fs::path(files_.root) / path;
    std::error_code error;
    if (!fs::exists(whole, error)) fail("no file " + printable(whole.string()));
    files_.files.push_back({path, label});
  }

  std::int32_t label_of(std::string_view word) const {
    std::int64_t label = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), label);
    if (end != word.data() + word.size() || error == std::errc::invalid_argument) {
      fail("the label '" + printable(word) + "' is not a whole number");
    }
    if (error != std::errc() || label < 0 || label >= classes_) {
      fail("label, got " + std::string(word) + ", expected " + range_);
    }
    return static_cast<std::int32_t>(label);
  }

  const fs::path list_;
  const int classes_;
  const std::string range_;  // of labels, in words
  ImageFiles files_;
  std::size_t line_ = 0;
};

int largest_label(const ImageFiles& files) {
  return std::ranges::max_element(files.files, {}, &ImageFiles::File::label)->label;
}

std::string range_of(int classes, const char* why) {
  return "0 to " + std::to_string(classes - 1) + why;
}

}  // namespace

std::string ImageFiles::path(std::size_t index) const {
  return (fs::path(root) / files[index].path).string();
}

std::vector<std::string> read_class_names(const fs::path& file) {
  std::istringstream lines(contents(file));
  std::vector<std::string> names;
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r')) line.pop_back();
    names.push_back(std::move(line));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  if (names.empty()) throw DataError(printable(file.string()), "names no classes");
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) continue;
    throw DataError(
        printable(file.string()),
        "line " + std::to_string(i + 1) + ": the name of class " + std::to_string(i) + " is empty");
  }
  return names;
}

std::vector<std::string> numbered_classes(std::size_t classes) {
  std::vector<std::string> names;
  for (std::size_t label = 0; label < classes; ++label) names.push_back(std::to_string(label));
  return names;
}

ImageCollection read_image_lists(const ImageListOptions& options) {
  ImageCollection collection;
  collection.name = printable(options.test.stem().string());
  int classes = options.classes.value_or(kMostClasses);
  std::string range = range_of(classes, options.classes ? ", the requested classes" : "");
  if (!options.train.empty()) {
    collection.name = printable(options.train.stem().string());
    collection.train = ListReader(options.train, options.root, classes, range).run();
    if (!options.classes) {
      classes = largest_label(collection.train) + 1;
      range = range_of(classes, ", the labels of the training list");
    }
  }
  collection.test = ListReader(options.test, options.root, classes, range).run();
  if (options.train.empty() && !options.classes) classes = largest_label(collection.test) + 1;
  if (options.names.size() > static_cast<std::size_t>(classes)) {
    throw DataError(collection.name, "number of class names", std::to_string(options.names.size()),
                    "at most " + std::to_string(classes) + ", the number of classes");
  }
  collection.class_names = numbered_classes(static_cast<std::size_t>(classes));
  std::ranges::copy(options.names, collection.class_names.begin());
  return collection;
}

}  // namespace skyline
