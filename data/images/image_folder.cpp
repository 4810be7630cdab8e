#include "data/images/image_folder.h"

#include <algorithm>
#include <system_error>
#include <utility>

#include "data/errors.h"
#include "data/printable.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

std::string shown(const fs::path& path) { return printable(path.string()); }

struct Entries {
  std::vector<std::string> folders, files;  // names, sorted
};

// Lists a folder without its hidden entries.
Entries entries_of(const fs::path& folder) {
  std::error_code error;
  Entries entries;
  fs::directory_iterator entry(folder, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    if (name.starts_with('.')) continue;
    std::error_code unknown;  // a dangling link counts as an unreadable file
    (entry->is_directory(unknown) ? entries.folders : entries.files).push_back(name);
  }
  if (error) throw DataError(shown(folder), "cannot be read: " + error.message());
  std::ranges::sort(entries.folders);
  std::ranges::sort(entries.files);
  return entries;
}

// Lists the files of one split. Its classes must be among those of `collection`.
class SplitScan {
 public:
  SplitScan(ImageCollection& collection, Split split, const fs::path& folder)
      : collection_(collection),
        split_(split),
        folder_(folder),
        files_(split == Split::kTrain ? collection.train : collection.test) {
    files_.source = files_.root = folder.string();
  }

  void run() {
    for (const std::string& name : entries_of(folder_).folders) add_class(name);
    if (files_.files.empty()) throw DataError(shown(folder_), "no images in any class");
  }

 private:
  void add_class(const std::string& name) {
    const auto& names = collection_.class_names;
    const auto found = std::ranges::lower_bound(names, name);
    if (found == names.end() || *found != name) {
      throw DataError(shown(folder_), "class '" + printable(name) + "' is not a class of train");
    }
    const auto label = static_cast<std::int32_t>(found - names.begin());
    const Entries entries = entries_of(folder_ / name);
    for (const std::string& inner : entries.folders) {
      collection_.warnings.push_back("skipped the folder " + shown(folder_ / name / inner) +
                                     ": images must be directly in their class's folder");
    }
    if (entries.files.empty()) note_empty(name);
    for (const std::string& file : entries.files) {
      files_.files.push_back({(fs::path(name) / file).string(), label});
    }
  }

  void note_empty(const std::string& name) {
    if (split_ == Split::kTrain) {
      throw DataError(shown(folder_ / name), "the class has no images");
    }
    collection_.warnings.push_back("the class " + shown(folder_ / name) + " has no images");
  }

  ImageCollection& collection_;
  Split split_;
  const fs::path folder_;
  ImageFiles& files_;
};

// Returns val or test; empty if neither exists.
fs::path test_folder(const fs::path& folder) {
  for (const char* name : {"val", "test"}) {
    std::error_code error;
    if (fs::exists(folder / name, error)) return folder / name;
  }
  return {};
}

void check_folder(const fs::path& folder) {
  std::error_code error;
  const auto status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) throw DataError(shown(folder), "no such folder");
  if (error) throw DataError(shown(folder), "cannot be read: " + error.message());
  if (!fs::is_directory(status)) throw DataError(shown(folder), "not a folder");
}

// Returns the folder's own name, also for "data/" and ".".
std::string name_of(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  return printable((error ? folder : whole).filename().string());
}

}  // namespace

bool is_image_folder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "train", error) || !test_folder(folder).empty();
}

ImageCollection scan_image_folder(const fs::path& folder, bool needs_train) {
  check_folder(folder);
  ImageCollection collection;
  collection.name = name_of(folder);
  const fs::path train = folder / "train", test = test_folder(folder);
  std::error_code error;
  const bool has_train = fs::exists(train, error);
  if (needs_train || has_train) check_folder(train);
  if (test.empty()) throw DataError(shown(folder), "no folder 'val' or 'test' for validation");
  check_folder(test);
  const fs::path& classes = has_train ? train : test;
  collection.class_names = entries_of(classes).folders;
  if (collection.class_names.empty()) {
    throw DataError(shown(classes), "no classes: expected a folder of images per class");
  }
  if (has_train) SplitScan(collection, Split::kTrain, train).run();
  SplitScan(collection, Split::kTest, test).run();
  return collection;
}

}  // namespace skyline
