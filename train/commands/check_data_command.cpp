#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "data/host.h"
#include "data/images/image_scan.h"
#include "data/text/parallel_text.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/commands/commands.h"
#include "train/data_results.h"
#include "train/images/image_data.h"
#include "train/options/text_options.h"

namespace skyline {

Rows<ImageScan::Size> rows(const ImageScan::Size*) {
  Rows<ImageScan::Size> rows = {{"width", kCount, "pixels", &ImageScan::Size::width},
                                {"height", kCount, "pixels", &ImageScan::Size::height}};
  add_path_rows(rows);
  return rows;
}

namespace {

// A class of images by name.
struct ScannedClass {
  std::string_view name;
  ImageScan::ClassCounts counts;
};

Rows<ScannedClass> rows(const ScannedClass*) {
  return {{"name", "of the class", &ScannedClass::name},
          {"train", kCount, "images to train with", [](auto& one) { return one.counts.train; }},
          {"val", kCount, "images to validate with", [](auto& one) { return one.counts.test; }},
          {"bad", kCount, "images that cannot be read", [](auto& one) { return one.counts.bad; }}};
}

std::vector<ScannedClass> classes_of(const ImageScan& scan) {
  std::vector<ScannedClass> classes;
  for (std::size_t label = 0; label < scan.classes.size(); ++label) {
    classes.push_back({scan.class_names[label], scan.classes[label]});
  }
  return classes;
}

std::optional<ImageScan::Size> known(const ImageScan::Size& size) {
  return size.pixels() == 0 ? std::nullopt : std::optional(size);
}

}  // namespace

Rows<ImageScan> rows(const ImageScan*) {
  return {
      {"data", "the folder or file", &ImageScan::name},
      {"images", kCount, "files, or records of IDX files", &ImageScan::images},
      {"bytes", kBytes, "of the files", &ImageScan::bytes},
      {"classes", "by label", classes_of},
      {"formats", "readable images of each format", &ImageScan::formats},
      {"turned", kCount, "readable images that their EXIF orientation turns", &ImageScan::turned},
      {"smallest", "the readable image with the fewest pixels",
       [](auto& scan) { return known(scan.smallest); }},
      {"largest", "the one with the most", [](auto& scan) { return known(scan.largest); }},
      {"bad", "images that cannot be read", &ImageScan::bad}};
}

namespace {

// Pairs of lines that check-data has read.
struct TextScan {
  TextSummary summary;
  std::size_t source_words = 0, target_words = 0;  // different ones
};

Rows<TextScan> rows(const TextScan*) {
  return {{"lines", kCount, "read", [](auto& scan) { return scan.summary.lines; }},
          {"pairs", kCount, "that can be used", [](auto& scan) { return scan.summary.kept; }},
          {"empty", kCount, "pairs without words on a side",
           [](auto& scan) { return scan.summary.empty; }},
          {"invalid_utf8", kCount, "pairs that are not UTF-8",
           [](auto& scan) { return scan.summary.invalid_utf8; }},
          {"source_words", kCount, "different words of the source", &TextScan::source_words},
          {"target_words", kCount, "different words of the target", &TextScan::target_words},
          {"bad", "the first skipped line for each reason",
           [](auto& scan) { return scan.summary.faults; }}};
}

struct CheckDataArguments {
  std::filesystem::path data_path;
  DataOptions data;
  TextOptions texts;  // only source and target
};

std::string size_line(const char* what, const ImageScan::Size& size) {
  if (size.pixels() == 0) return {};
  return fmt::format("{}: {} x {}, {}\n", what, size.width, size.height, printable(size.path));
}

std::string text_of(const ImageScan& scan) {
  Table table("<class | train | val | bad");
  ImageScan::ClassCounts all;
  for (const auto& [name, counts] : classes_of(scan)) {
    table.add_row({printable(name), std::to_string(counts.train), std::to_string(counts.test),
                   std::to_string(counts.bad)});
    all.train += counts.train;
    all.test += counts.test;
    all.bad += counts.bad;
  }
  table.add_row(
      {"all", std::to_string(all.train), std::to_string(all.test), std::to_string(all.bad)});
  std::string text = table.str();
  for (const auto& [format, images] : scan.formats) {
    text += fmt::format("{}: {} images\n", format, images);
  }
  if (scan.turned > 0) {
    text += fmt::format("turned upright, as their EXIF orientation says: {} images\n", scan.turned);
  }
  text += size_line("smallest", scan.smallest) + size_line("largest", scan.largest);
  for (const BadImage& bad : scan.bad)
    text += fmt::format("bad: {}: {}\n", printable(bad.path), bad.reason);
  return text + fmt::format("{}: {} images of {} classes in {}, {} bad\n", scan.name, scan.images,
                            scan.classes.size(), format_bytes(scan.bytes), scan.bad.size());
}

// Shows the progress, at most ten times per second.
class ScanProgress {
 public:
  explicit ScanProgress(Console& console) : console_(console) {}
  void operator()(std::size_t done, std::size_t images) {
    const auto now = std::chrono::steady_clock::now();
    if (now - shown_ < std::chrono::milliseconds(100)) return;
    shown_ = now;
    console_.show_transient(fmt::format("{} of {} images", done, images));
  }

 private:
  Console& console_;
  std::chrono::steady_clock::time_point shown_{};
};

ImageScan scan(const DataOptions& data, Console& console) {
  if (reads_idx_files(data)) return scan_idx(data.data, idx_naming(data));
  if (!data.has_lists()) {
    if (const auto cifar = find_cifar(data.data)) return scan_cifar(*cifar);
  }
  const ImageCollection collection = open_images(data, {.needs_train = false, .needs_test = false});
  for (const std::string& warning : collection.warnings) console.warn(warning);
  ScanProgress progress(console);
  return scan_images(collection, static_cast<std::size_t>(data.decode_threads), std::ref(progress));
}

CommandResult check_images(const OptionList& list, DataOptions data, Console& console) {
  if (data.data.empty() && !data.has_lists()) {
    throw UsageError(
        "no data given: name a folder or file, or give --train-list and --val-list, or --source "
        "and --target");
  }
  list.check_rules();
  if (data.data.empty()) data.data = DataOptions{}.data;
  const ImageScan found = scan(resolved(std::move(data)), console);
  std::vector<std::size_t> train, test;
  for (const ImageScan::ClassCounts& counts : found.classes) {
    train.push_back(counts.train);
    test.push_back(counts.test);
  }
  for (const std::string& warning : class_warnings(found.class_names, train, test)) {
    console.warn(warning);
  }
  return told(found, text_of(found), found.bad.empty() ? 0 : 1);
}

// Reads pairs of every length, as validation does, from a tab-separated file unless it is empty.
ParallelText read_pairs(const std::filesystem::path& tab_separated, const TextOptions& options) {
  const ParallelTextOptions reader{.most_words = ParallelTextOptions::kUnlimited,
                                   .keep_sentences = false};
  if (!tab_separated.empty()) {
    return read_parallel_text(ByteReader::open(tab_separated), {}, reader);
  }
  std::vector<TextFiles> files;
  for (std::size_t i = 0; i < options.source.size(); ++i) {
    files.push_back({options.source[i], options.target[i]});
  }
  return read_text_files(files, reader);
}

CommandResult check_text(const ParallelText& text) {
  const TextScan scan{.summary = text.summary,
                      .source_words = text.source.words.size(),
                      .target_words = text.target.words.size()};
  std::string answer;
  for (const std::string& fault : scan.summary.faults) answer += "bad: " + fault + "\n";
  answer += fmt::format("{}; {} different words of the source, {} of the target\n",
                        scan.summary.text(), scan.source_words, scan.target_words);
  return told(scan, answer, scan.summary.faults.empty() ? 0 : 1);
}

CommandResult run(const OptionList& list, const CheckDataArguments& arguments, Console& console) {
  const TextOptions& texts = arguments.texts;
  const bool names_texts = !texts.source.empty() || !texts.target.empty();
  if (!names_texts && std::filesystem::is_regular_file(arguments.data_path)) {
    return check_text(read_pairs(arguments.data_path, {}));
  }
  if (!names_texts) {
    DataOptions data = arguments.data;
    data.data = arguments.data_path.string();
    return check_images(list, std::move(data), console);
  }
  if (!arguments.data_path.empty() || arguments.data.has_lists()) {
    throw UsageError("images and text exclude each other: give one of them");
  }
  return check_text(read_pairs({}, resolved(texts)));
}

}  // namespace

CommandRun declare_check_data(OptionList& list) {
  const auto arguments = std::make_shared<CheckDataArguments>();
  list.add("DATA", path(arguments->data_path, "DIR|FILE"),
           "An image folder (train/CLASS/*, val/CLASS/*; CLASS/*), a folder of IDX or CIFAR's "
           "files, or a tab-separated file of sentences");
  add_list_options(list, arguments->data);
  add_class_options(list, arguments->data);
  add_decode_threads(list, arguments->data);
  list.add("--source", files(arguments->texts.source), "Text: sentences, one per line");
  list.add("--target", files(arguments->texts.target), "Their translations, line by line");
  list.prints(keys<ImageScan>);
  list.prints(keys<TextScan>);
  return [&list, arguments](Console& console) { return run(list, *arguments, console); };
}

}  // namespace skyline
