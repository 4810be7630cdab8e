#include "data/images/image_collection.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include "data/host.h"
#include "data/images/decoding/image_decoder.h"
#include "data/images/decoding/image_header.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

// Returns the text of a file without a byte order mark. Throws DataError.
std::string contents(const fs::path& file) {
  try {
    const std::vector<std::uint8_t> bytes = read_image_file(file);
    constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
    std::string text(bytes.begin(), bytes.end());
    if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
      throw ImageError("is UTF-16; convert it to UTF-8");
    }
    return text.starts_with(kByteOrderMark) ? text.substr(kByteOrderMark.size()) : text;
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

// Returns the beginning of a line or word, for messages.
std::string beginning(std::string_view text) {
  constexpr std::size_t kShown = 80;
  return printable(text.substr(0, kShown)) + (text.size() > kShown ? "…" : "");
}

// "7", "-1", "1.5": meant as a number.
bool is_number(std::string_view word) {
  double number = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
  return end == word.data() + word.size() && word.find_first_of("0123456789") != word.npos;
}

// The labels that both lists may have.
struct Labels {
  std::optional<bool> named;       // they are names; unset before the first
  std::vector<std::string> names;  // sorted, or in the order of a file
  int classes = 0;                 // numbers are below
  std::string range;               // of numbers, in words
};

// Reads one list, line by line.
class ListReader {
 public:
  ListReader(const fs::path& list, const fs::path& root, Labels& labels)
      : list_(list), labels_(labels) {
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
    if (*labels_.named) number_names();
    return std::move(files_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw DataError(printable(list_.string()), "line " + std::to_string(line_) + ": " + what);
  }
  bool exists(std::string_view path) const {
    std::error_code error;
    return fs::exists(fs::path(files_.root) / path, error);
  }

  // After a tab, a label may hold blanks.
  void add(std::string_view content) {
    const auto tab = content.find_last_of('\t');
    const auto blank = tab != content.npos ? tab : content.find_last_of(kBlanks);
    if (blank == std::string_view::npos || exists(content)) {
      fail("expected a path and a label, got '" + beginning(content) + "'");
    }
    const std::string word(trimmed(content.substr(blank + 1)));
    const std::string path(trimmed(content.substr(0, blank)));
    check_kind(word);
    const std::int32_t label = *labels_.named ? 0 : label_of(word);
    if (!exists(path)) fail("no file " + printable((fs::path(files_.root) / path).string()));
    if (*labels_.named) words_.push_back({word, line_});
    files_.files.push_back({path, label});
  }

  void check_kind(const std::string& word) {
    const bool named = !is_number(word);
    if (labels_.named.value_or(named) == named) {
      labels_.named = named;
    } else if (named) {
      fail("the label '" + beginning(word) + "' is not a whole number, as those before it are");
    } else {
      fail("the label '" + beginning(word) + "' is a number, but those before it are names");
    }
  }

  // The first list decides which names there are, unless a file does.
  void number_names() {
    if (labels_.names.empty()) {
      std::set<std::string> all;
      for (const auto& [word, line] : words_) all.insert(word);
      labels_.names.assign(all.begin(), all.end());
    }
    std::map<std::string_view, std::int32_t> numbers;
    for (const std::string& name : labels_.names) {
      numbers.emplace(name, static_cast<std::int32_t>(numbers.size()));
    }
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const auto found = numbers.find(words_[i].first);
      if (found == numbers.end()) {
        line_ = words_[i].second;
        fail("the label '" + beginning(words_[i].first) + "' is none of the " +
             std::to_string(numbers.size()) + " classes");
      }
      files_.files[i].label = found->second;
    }
  }

  std::int32_t label_of(std::string_view word) const {
    std::int64_t label = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), label);
    if (end != word.data() + word.size() || error == std::errc::invalid_argument) {
      fail("the label '" + beginning(word) + "' is not a whole number");
    }
    if (error != std::errc() || label < 0 || label >= labels_.classes) {
      fail("label, got " + beginning(word) + ", expected " + labels_.range);
    }
    return static_cast<std::int32_t>(label);
  }

  const fs::path list_;
  Labels& labels_;
  ImageFiles files_;
  std::vector<std::pair<std::string, std::size_t>> words_;  // labels that are names, and lines
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

std::string listed_names(const std::vector<std::string>& names) {
  constexpr std::size_t kNamed = 4;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += (i == 0 ? "'" : ", '") + printable(names[i]) + "'";
  }
  return names.size() > kNamed ? text + ", … (" + std::to_string(names.size()) + ")" : text;
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
  const int most = options.classes.value_or(kMostClasses);
  Labels labels{.named = {},
                .names = options.names,
                .classes = most,
                .range = range_of(most, options.classes ? ", the requested classes" : "")};
  if (!options.train.empty()) {
    collection.name = printable(options.train.stem().string());
    collection.train = ListReader(options.train, options.root, labels).run();
    if (!options.classes && !*labels.named) {
      labels.classes = largest_label(collection.train) + 1;
      labels.range = range_of(labels.classes, ", the labels of the training list");
    }
  }
  collection.test = ListReader(options.test, options.root, labels).run();
  collection.named = *labels.named;
  if (collection.named) {
    collection.class_names = labels.names;
    return collection;
  }
  if (options.train.empty() && !options.classes) {
    labels.classes = largest_label(collection.test) + 1;
  }
  if (options.names.size() > static_cast<std::size_t>(labels.classes)) {
    throw DataError(collection.name, "number of class names", std::to_string(options.names.size()),
                    "at most " + std::to_string(labels.classes) + ", the number of classes");
  }
  collection.class_names = numbered_classes(static_cast<std::size_t>(labels.classes));
  std::ranges::copy(options.names, collection.class_names.begin());
  return collection;
}

}  // namespace skyline
