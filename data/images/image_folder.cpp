#include "data/images/image_folder.h"

#include <algorithm>
#include <set>
#include <system_error>
#include <utility>

#include "data/host.h"

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

// Collects files below folders; links may lead back to a folder above.
class FileCollector {
 public:
  explicit FileCollector(ImageFiles& files) : files_(files) {}

  void add(const fs::path& root) {
    std::error_code error;
    if (!fs::is_directory(root, error)) return add_file(root);
    const std::size_t before = files_.files.size();
    add_folder(root);
    if (files_.files.size() == before) throw DataError(shown(root), "no images below this folder");
  }

 private:
  void add_file(const fs::path& file) { files_.files.push_back({.path = file.string()}); }

  void add_folder(const fs::path& folder) {
    std::error_code error;
    if (!known_.insert(fs::canonical(folder, error)).second) return;
    const Entries entries = entries_of(folder);
    for (const std::string& name : entries.files) add_file(folder / name);
    for (const std::string& name : entries.folders) add_folder(folder / name);
  }

  ImageFiles& files_;
  std::set<fs::path> known_;  // folders
};

}  // namespace

bool is_image_folder(const fs::path& folder) {
  std::error_code error;
  return fs::exists(folder / "train", error) || !test_folder(folder).empty();
}

bool has_class_folders(const fs::path& folder) {
  for (const char* split : {"train", "val", "test"}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / split, error)) {
      std::error_code unknown;
      if (entry.is_directory(unknown)) return true;
    }
  }
  return false;
}

std::string folder_name(const fs::path& folder) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(folder, error);
  const fs::path plain = error ? folder.lexically_normal() : whole;
  return printable((plain.has_filename() ? plain : plain.parent_path()).filename().string());
}

ImageFiles image_files_below(const std::vector<fs::path>& roots) {
  ImageFiles files;
  for (const fs::path& root : roots) FileCollector(files).add(root);
  return files;
}

ImageCollection scan_image_folder(const fs::path& folder, bool needs_train) {
  check_folder(folder);
  ImageCollection collection;
  collection.name = folder_name(folder);
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
