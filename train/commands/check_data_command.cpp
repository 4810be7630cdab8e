#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "data/images/image_scan.h"
#include "data/printable.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/commands/command_json.h"
#include "train/commands/commands.h"
#include "train/images/image_data.h"

namespace skyline {
namespace {

struct CheckDataArguments {
  std::filesystem::path folder;
  DataOptions data;
};

std::string size_line(const char* what, const ImageScan::Size& size) {
  if (size.pixels() == 0) return {};
  return fmt::format("{}: {} x {}, {}\n", what, size.width, size.height, size.path);
}

std::string text_of(const ImageScan& scan, const ImageCollection& collection) {
  Table table({{"class", Align::kLeft}, {"train"}, {"val"}, {"bad"}});
  ImageScan::ClassCounts all;
  for (std::size_t label = 0; label < scan.classes.size(); ++label) {
    const ImageScan::ClassCounts& counts = scan.classes[label];
    table.add_row({printable(collection.class_names[label]), std::to_string(counts.train),
                   std::to_string(counts.test), std::to_string(counts.bad)});
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
  text += size_line("smallest", scan.smallest) + size_line("largest", scan.largest);
  for (const BadImage& bad : scan.bad) text += fmt::format("bad: {}: {}\n", bad.path, bad.reason);
  return text + fmt::format("{}: {} images of {} classes in {}, {} of them bad\n", collection.name,
                            scan.images, scan.classes.size(), format_bytes(scan.bytes),
                            scan.bad.size());
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

CommandResult run(const CheckDataArguments& arguments, Console& console) {
  DataOptions data = arguments.data;
  if (!arguments.folder.empty()) data.data = arguments.folder.string();
  if (arguments.folder.empty() && !data.has_lists()) {
    throw UsageError("no images given: give a folder, or --train-list and --val-list");
  }
  data = resolved(std::move(data));
  const ImageCollection collection = open_images(data);
  for (const std::string& warning : collection.warnings) console.warn(warning);
  ScanProgress progress(console);
  const ImageScan scan =
      scan_images(collection, static_cast<std::size_t>(data.decode_threads), std::ref(progress));
  return {.json = json_of(scan, collection),
          .text = text_of(scan, collection),
          .exit_code = scan.bad.empty() ? 0 : 1};
}

}  // namespace

CommandRun declare_check_data(OptionList& list) {
  const auto arguments = std::make_shared<CheckDataArguments>();
  list.add("DIR", path(arguments->folder, "DIR"), "An image folder: train/CLASS/*, val/CLASS/*");
  add_list_options(list, arguments->data);
  list.add("--classes", integer(arguments->data.classes, 1, 1'000'000),
           "Number of classes; labels must be smaller (default: largest training label + 1)");
  add_decode_threads(list, arguments->data);
  return [arguments](Console& console) { return run(*arguments, console); };
}

}  // namespace skyline
