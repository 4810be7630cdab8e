#include "data/images/idx/emnist.h"

#include <set>
#include <sstream>
#include <utility>

#include "data/host.h"
#include "data/images/image_arrays.h"
#include "data/images/image_collection.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kLetters = "emnist-letters";

// "emnist-letters" of "emnist-letters-train-images-idx3-ubyte.gz".
std::string name_in(const std::string& file) {
  for (const char* part : {"-train-images", "-train-labels", "-test-images", "-test-labels"}) {
    const auto end = file.find(part);
    const bool is_idx = file.find("-ubyte", end) != file.npos;
    if (file.starts_with("emnist-") && end != file.npos && is_idx) return file.substr(0, end);
  }
  return {};
}

// Returns the line of a letter in mapping.txt: "1 65 97".
std::string letter_line(int letter) {
  return std::to_string(letter) + " " + std::to_string('A' + letter - 1) + " " +
         std::to_string('a' + letter - 1);
}

std::vector<std::string> mapping_lines(const fs::path& file, const std::string& name) {
  std::error_code error;
  if (fs::exists(file, error)) return read_class_names(file);
  std::vector<std::string> lines;
  for (int letter = 1; name == kLetters && letter <= 26; ++letter) {
    lines.push_back(letter_line(letter));
  }
  return lines;
}

// Returns the label and its characters, "A/a".
std::pair<int, std::string> parsed(const std::string& line, const fs::path& file) {
  std::istringstream words(line);
  int label = -1;
  std::string name;
  words >> label;
  for (int code = 0; words >> code;) {
    if (code <= ' ' || code > '~') break;
    name += (name.empty() ? "" : "/") + std::string(1, static_cast<char>(code));
  }
  if (label >= 0 && label < 256 && words.eof() && !name.empty()) return {label, name};
  throw DataError(printable(file.string()), "a line of it", "'" + printable(line) + "'",
                  "a label and the ASCII codes of its characters");
}

}  // namespace

std::string emnist_name(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    const std::string name = name_in(entry.path().filename().string());
    if (!name.empty()) names.insert(name);
  }
  if (names.size() < 2) return names.empty() ? "" : *names.begin();
  throw DataError(printable(folder.string()), "holds several splits of EMNIST (" + *names.begin() +
                                                  ", " + *std::next(names.begin()) +
                                                  (names.size() > 2 ? ", …" : "") +
                                                  "): put the files of one into a folder");
}

std::optional<Emnist> find_emnist(const fs::path& folder) {
  Emnist emnist{.name = emnist_name(folder), .class_names = {}, .classes_of = {}};
  if (emnist.name.empty()) return {};
  const fs::path file = folder / (emnist.name + "-mapping.txt");
  std::map<int, std::string> names;
  for (const std::string& line : mapping_lines(file, emnist.name)) names.insert(parsed(line, file));
  for (auto& [label, name] : names) {
    emnist.classes_of[label] = static_cast<std::uint8_t>(emnist.class_names.size());
    emnist.class_names.push_back(std::move(name));
  }
  return emnist;
}

void labels_to_classes(const Emnist& emnist, const fs::path& file, IdxArray& labels) {
  if (emnist.classes_of.empty()) return;
  for (std::size_t record = 0; record < labels.bytes.size(); ++record) {
    const auto found = emnist.classes_of.find(labels.bytes[record]);
    if (found == emnist.classes_of.end()) {
      throw no_class(file, record, labels.bytes[record],
                     "one of " + std::to_string(emnist.classes_of.begin()->first) + " to " +
                         std::to_string(emnist.classes_of.rbegin()->first));
    }
    labels.bytes[record] = found->second;
  }
}

void turn_upright(IdxArray& images) {
  const std::size_t height = images.dimensions[1], width = images.dimensions[2];
  const std::vector<std::uint8_t> stored = images.bytes;
  for (std::size_t image = 0; image < stored.size(); image += height * width) {
    for (std::size_t y = 0; y < height; ++y) {
      for (std::size_t x = 0; x < width; ++x) {
        images.bytes[image + x * height + y] = stored[image + y * width + x];
      }
    }
  }
  std::swap(images.dimensions[1], images.dimensions[2]);
}

}  // namespace skyline
