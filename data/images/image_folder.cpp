#include "data/images/image_folder.h"

#include <algorithm>
#include <array>
#include <set>
#include <system_error>
#include <utility>

#include "data/host.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

std::string named(const fs::path& path) { return printable(path.string()); }

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
  if (error) throw DataError(named(folder), "cannot be read: " + error.message());
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
    if (files_.files.empty()) throw DataError(named(folder_), "no images in any class");
  }

 private:
  void add_class(const std::string& name) {
    const auto& names = collection_.class_names;
    const auto found = std::ranges::lower_bound(names, name);
    if (found == names.end() || *found != name) {
      throw DataError(named(folder_), "class '" + printable(name) + "' is not a class of train");
    }
    const auto label = static_cast<std::int32_t>(found - names.begin());
    const Entries entries = entries_of(folder_ / name);
    for (const std::string& inner : entries.folders) {
      collection_.warnings.push_back("skipped the folder " + named(folder_ / name / inner) +
                                     ": images must be directly in their class's folder");
    }
    if (entries.files.empty() && split_ == Split::kTrain) {
      throw DataError(
          named(folder_ / name),
          "the class has no images" +
              (entries.folders.empty() ? "" : ", but folders " + listed_names(entries.folders)));
    }
    for (const std::string& file : entries.files) {
      files_.files.push_back({(fs::path(name) / file).string(), label});
    }
  }

  ImageCollection& collection_;
  Split split_;
  const fs::path folder_;
  ImageFiles& files_;
};

// The first that exists is read.
constexpr std::array kTestFolders = {"val", "valid", "validation", "test"};

std::vector<std::string> test_folders(const fs::path& folder) {
  std::vector<std::string> found;
  for (const char* name : kTestFolders) {
    std::error_code error;
    if (fs::exists(folder / name, error)) found.emplace_back(name);
  }
  return found;
}

// Maps a name to [0, 1), the same whatever other names there are: FNV-1a, then the finalizer of
// MurmurHash3, so that names which differ in one digit spread evenly.
double place_of(std::string_view name) {
  std::uint64_t hash = 0xcbf2'9ce4'8422'2325;
  for (const char c : name) {
    hash = (hash ^ static_cast<unsigned char>(c)) * std::uint64_t{0x100'0000'01b3};
  }
  for (const std::uint64_t factor : {0xff51'afd7'ed55'8ccd, 0xc4ce'b9fe'1a85'ec53}) {
    hash = (hash ^ hash >> 33) * factor;
  }
  return static_cast<double>((hash ^ hash >> 33) >> 11) * 0x1p-53;
}

// Moves the files whose names have a place below `share` to the other split; of each class with two
// images or more at least one, and not all. Files are sorted by class.
void hold_out(ImageCollection& collection, double share) {
  using File = ImageFiles::File;
  std::vector<File> kept;
  const auto place = [](const File& file) { return place_of(file.path); };
  const auto& files = collection.train.files;
  for (auto begin = files.begin(); begin != files.end();) {
    const auto end = std::find_if(begin, files.end(), [label = begin->label](const File& file) {
      return file.label != label;
    });
    const auto [first, last] = std::ranges::minmax_element(begin, end, {}, place);
    for (auto file = begin; file != end; ++file) {
      const bool out = end - begin > 1 && file != last && (file == first || place(*file) < share);
      (out ? collection.test.files : kept).push_back(*file);
    }
    begin = end;
  }
  collection.test.source = collection.test.root = collection.train.root;
  collection.train.files = std::move(kept);
  if (collection.test.files.empty()) {
    throw DataError(named(collection.train.root),
                    "no class has two images, so none can be held out");
  }
}

void check_folder(const fs::path& folder) {
  std::error_code error;
  const auto status = fs::status(folder, error);
  if (status.type() == fs::file_type::not_found) throw DataError(named(folder), "no such folder");
  if (error) throw DataError(named(folder), "cannot be read: " + error.message());
  if (!fs::is_directory(status)) throw DataError(named(folder), "not a folder");
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
    if (files_.files.size() == before) throw DataError(named(root), "no images below this folder");
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

bool has_class_folders(const fs::path& folder) {
  std::vector<std::string> splits(kTestFolders.begin(), kTestFolders.end());
  splits.emplace_back("train");
  for (const std::string& split : splits) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder / split, error)) {
      std::error_code unknown;
      if (entry.is_directory(unknown)) return true;
    }
  }
  return false;
}

bool has_folders(const fs::path& folder) { return !entries_of(folder).folders.empty(); }

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

std::string content_text(const fs::path& folder) {
  const Entries entries = entries_of(folder);
  std::string text =
      entries.folders.empty() ? "no folders" : "folders " + listed_names(entries.folders);
  return text + (entries.files.empty() ? ", no files" : ", files " + listed_names(entries.files));
}

ImageCollection scan_image_folder(const fs::path& folder, const ImageFolderOptions& options) {
  check_folder(folder);
  ImageCollection collection;
  collection.name = folder_name(folder);
  const std::vector<std::string> tests = test_folders(folder);
  std::error_code error;
  const bool has_train = fs::exists(folder / "train", error);
  const bool plain = !has_train && tests.empty();
  const fs::path train = plain ? folder : folder / "train";
  if (!plain && (options.needs_train || has_train)) check_folder(train);
  const bool splits = options.val_share.has_value();
  if (splits && !tests.empty()) {
    throw DataError(named(folder), "holds '" + tests.front() +
                                       "' for validation, so no images need to be held out");
  }
  if (plain && options.needs_train && !splits) {
    throw DataError(named(folder), "no folder 'train' (it holds " + content_text(folder) +
                                       "): if its folders are classes, hold out some images of "
                                       "each for validation, --val-split 0.1");
  }
  if (!plain && tests.empty() && options.needs_test && !splits) {
    throw DataError(named(folder),
                    "no folder 'val', 'valid', 'validation' or 'test' for validation (it holds " +
                        content_text(folder) +
                        "): add one, or hold out some images of train, --val-split 0.1");
  }
  const fs::path test = tests.empty() ? train : folder / tests.front();
  check_folder(test);
  if (tests.size() > 1) {
    collection.warnings.push_back(named(folder) + " holds " + listed_names(tests) +
                                  ": validating on '" + tests.front() + "'");
  }
  const bool reads_train = has_train || splits || (plain && !options.needs_test);
  const fs::path& classes = reads_train ? train : test;
  collection.class_names = entries_of(classes).folders;
  if (collection.class_names.empty()) {
    throw DataError(named(classes), "no classes: expected a folder of images per class");
  }
  if (reads_train) SplitScan(collection, Split::kTrain, train).run();
  if (splits) {
    hold_out(collection, *options.val_share);
  } else if (test != train || !reads_train) {
    SplitScan(collection, Split::kTest, test).run();
  }
  return collection;
}

}  // namespace skyline
