#include "train/images/confusion.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/host.h"
#include "train/cli/table.h"
#include "train/images/prediction.h"

namespace skyline {
namespace {

constexpr std::size_t kListedClasses = 20;

std::optional<double> share(std::int64_t part, std::int64_t whole) {
  if (whole == 0) return {};
  return static_cast<double>(part) / static_cast<double>(whole);
}

std::string percent_of(const std::optional<double>& share) {
  return share ? fmt::format("{:.2f} %", 100 * *share) : "";
}

std::string matrix_text(const Confusion& confusion) {
  const auto matrix = confusion.matrix();
  std::string titles = "<class \\ taken for";
  for (std::size_t label = 0; label < matrix.size(); ++label) titles += fmt::format(" | {}", label);
  Table table(titles);
  for (std::size_t label = 0; label < matrix.size(); ++label) {
    std::vector<std::string> cells = {
        fmt::format("{} {}", label, printable(confusion.names()[label]))};
    for (const std::int64_t images : matrix[label]) cells.push_back(std::to_string(images));
    table.add_row(std::move(cells));
  }
  return table.str();
}

}  // namespace

std::optional<double> ClassResult::recall() const { return share(correct, images); }
std::optional<double> ClassResult::precision() const { return share(correct, predicted); }

Confusion::Confusion(std::vector<std::string> names, std::size_t classes)
    : names_(std::move(names)) {
  while (names_.size() < classes) names_.push_back(std::to_string(names_.size()));
}

void Confusion::add(std::size_t index, std::span<const float> logits, std::int32_t label) {
  if (label == kNotCounted) return;
  const auto truth = static_cast<std::size_t>(label);
  const auto predicted =
      static_cast<std::size_t>(std::ranges::max_element(logits) - logits.begin());
  ++counts_[{truth, predicted}];
  if (predicted == truth) return;
  const std::vector<Guess> guesses = top_guesses(logits, 1);
  mistakes_.push_back({.index = index,
                       .label = truth,
                       .predicted = predicted,
                       .probability = guesses.empty() ? 0 : guesses.front().probability});
}

std::vector<ClassResult> Confusion::classes() const {
  std::vector<ClassResult> all;
  for (const std::string& name : names_) all.push_back({.name = name, .taken_for = {}});
  for (const auto& [pair, images] : counts_) {
    const auto& [label, predicted] = pair;
    all[label].images += images;
    all[predicted].predicted += images;
    if (label == predicted) {
      all[label].correct += images;
    } else if (images > all[label].taken_images) {
      all[label].taken_for = names_[predicted];
      all[label].taken_images = images;
    }
  }
  return all;
}

std::vector<std::vector<std::int64_t>> Confusion::matrix() const {
  if (names_.size() > kMostMatrixClasses) return {};
  std::vector rows(names_.size(), std::vector<std::int64_t>(names_.size()));
  for (const auto& [pair, images] : counts_) rows[pair.first][pair.second] = images;
  return rows;
}

Rows<ClassResult> rows(const ClassResult*) {
  return {{"name", "of the class", &ClassResult::name},
          {"images", kCount, "evaluated", &ClassResult::images},
          {"recall", kShare, "of its images: those that were taken for it", &ClassResult::recall},
          {"precision", kShare, "of the images that were taken for it: its own",
           &ClassResult::precision},
          {"taken_for", "the class that its other images were taken for most often",
           [](auto& one) {
             return one.taken_images > 0 ? std::optional(one.taken_for) : std::nullopt;
           }},
          {"taken_images", kCount, "images that were", &ClassResult::taken_images}};
}

std::string confusion_text(const Confusion& confusion) {
  std::vector<ClassResult> classes = confusion.classes();
  const std::size_t all = classes.size();
  std::string rest;
  if (all > kListedClasses) {
    std::erase_if(classes, [](const ClassResult& one) { return one.images == 0; });
    if (classes.size() < all)
      rest = fmt::format("{} of {} classes have images", classes.size(), all);
    if (classes.size() > kListedClasses) {
      std::ranges::stable_sort(classes, {}, &ClassResult::recall);
      classes.resize(kListedClasses);
      rest += fmt::format("{}these have the lowest accuracy; --json and --report tell of all",
                          rest.empty() ? "" : "; ");
    }
    rest += "\n";
  }
  Table table("<class | images | accuracy | <most often taken for");
  for (const ClassResult& one : classes) {
    const std::string taken_for =
        one.taken_images == 0 ? ""
                              : fmt::format("{} ({})", printable(one.taken_for), one.taken_images);
    table.add_row(
        {printable(one.name), std::to_string(one.images), percent_of(one.recall()), taken_for});
  }
  if (all <= kListedClasses) return table.str() + "\n" + matrix_text(confusion);
  return table.str() + rest;
}

}  // namespace skyline
