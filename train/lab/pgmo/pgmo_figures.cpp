#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <ranges>

#include "models/seq2seq.h"
#include "train/lab/pgmo/pgmo.h"

namespace skyline {
namespace {

using Unit = PgmoFigure::Unit;

constexpr double kGigabyte = 1e9;
constexpr double k16GiB = 16.0 * (1 << 30);  // memory of the paper's P100

constexpr const char* kPlannedNote =
    "heuristic and optimum alike: image, label, the first convolution's output and its workspace";
constexpr const char* kSavingNote =
    "of the whole, against the pool of Chainer 3, and against the exact-size pool of CuPy 1; the "
    "paper does not say which one it ran; what each took, by op, is below";
constexpr const char* kLstmNote =
    "Chainer 3 copies an LSTM's weights into one buffer for cuDNN whenever it is called, 96 MiB "
    "for each of the two and anew for every word, as the column as Chainer does; ours pack one "
    "matrix at a time, 16 MiB, so that hardly anything is left to plan";
constexpr const char* kTimeNote = "a dry run computes nothing; --measure runs the steps";
constexpr const char* kVariantNote =
    "the paper does not say which Inception-ResNet it ran; ours is v2 with 10, 20 and 10 blocks";

// Reads figures of the two columns; `exact_pool` is null where no pool counts.
template <typename Reading, typename ExactReading = std::nullptr_t>
PgmoFigure filled(PgmoFigure figure, const PgmoRow& row, Reading reading,
                  ExactReading exact_pool = nullptr) {
  figure.ours = static_cast<double>(std::invoke(reading, row.ours));
  figure.as_chainer = static_cast<double>(std::invoke(reading, row.as_chainer));
  if constexpr (!std::is_null_pointer_v<ExactReading>) {
    figure.exact_pool = static_cast<double>(std::invoke(exact_pool, row.ours));
    figure.chainer_exact_pool = static_cast<double>(std::invoke(exact_pool, row.as_chainer));
  }
  return figure;
}

PgmoFigure planned_inference(const PgmoRow& row, std::string title, double paper) {
  return filled({.what = std::move(title) + ", inference of 1: bytes planned",
                 .section = "5.2.3",
                 .paper = paper,
                 .note = kPlannedNote},
                row, &PgmoMemory::heuristic_bytes);
}

PgmoFigure saving(const PgmoRow& row, std::string what, std::string section, double paper,
                  std::string note) {
  return filled({.what = std::move(what),
                 .section = std::move(section),
                 .unit = Unit::kShare,
                 .paper = paper,
                 .note = std::move(note)},
                row, &PgmoMemory::saving, &PgmoMemory::saving_against_exact_pool);
}

// The paper also planned beforehand, for one input, and re-planned for others.
PgmoFigure saving_beforehand(const PgmoRow& row, double paper) {
  const auto planned = [](const PgmoMemory& memory) {
    return static_cast<double>(memory.mini_batches->arm("planned-upper-bound").reserved_bytes);
  };
  return filled(
      {.what = "the same, planned beforehand for the longest input",
       .section = "5.3.1",
       .unit = Unit::kShare,
       .paper = paper,
       .note = kLstmNote},
      row,
      [=](const PgmoMemory& memory) {
        return 1 - planned(memory) / static_cast<double>(memory.pool_bytes);
      },
      [=](const PgmoMemory& memory) {
        return 1 - planned(memory) / static_cast<double>(memory.exact_pool_bytes);
      });
}

// Says how much of the paper's bytes is left when ops are Chainer's.
std::string rest_note(double paper, double as_chainer) {
  return fmt::format(
      "the paper's is the whole device's, so it should hold cuDNN, the CUDA context and what "
      "Chainer keeps between steps, too; beside Chainer's ops {:.2f} GB stay unexplained",
      std::max(paper - as_chainer, 0.0) / kGigabyte);
}

void add_alexnet(const PgmoRow& row, std::vector<PgmoFigure>& figures) {
  const auto figure = [](const char* what, double paper) {
    return PgmoFigure{.what = std::string("AlexNet, training at 32, ") + what,
                      .section = "5.1",
                      .unit = Unit::kGigabytes,
                      .paper = paper * kGigabyte};
  };
  figures.push_back(filled(figure("network-wise", 1.50), row, &PgmoMemory::network_wise_bytes));
  figures.push_back(
      filled(figure("pool", 1.21), row, &PgmoMemory::pool_bytes, &PgmoMemory::exact_pool_bytes));
  for (std::size_t k = figures.size() - 2; k < figures.size(); ++k) {
    PgmoFigure& added = figures[k];
    added.note = rest_note(added.paper, added.chainer_exact_pool.value_or(*added.as_chainer));
  }
}

void add_inception_resnet(const PgmoRow& row, std::vector<PgmoFigure>& figures) {
  const auto figure = [](const char* what, const char* relation) {
    return PgmoFigure{.what = std::string("Inception-ResNet, training at 64, ") + what,
                      .section = "5.2",
                      .unit = Unit::kGigabytes,
                      .paper = k16GiB,
                      .relation = relation,
                      .note = kVariantNote};
  };
  figures.push_back(filled(figure("planned", "at most"), row, &PgmoMemory::planned_bytes));
  figures.push_back(
      filled(figure("pool", "above"), row, &PgmoMemory::pool_bytes, &PgmoMemory::exact_pool_bytes));
  PgmoFigure& pool = figures.back();
  pool.note = rest_note(pool.paper, *pool.chainer_exact_pool);
}

// A row and what it saves.
struct Most {
  const PgmoRow* row = nullptr;
  double saving = 0;
};

template <typename Saving>
Most most_saving(const std::vector<PgmoRow>& rows, PgmoMemory PgmoRow::*memory, Saving saving,
                 bool (*counts)(const PgmoRow&)) {
  Most most;
  for (const PgmoRow& row : rows) {
    if (!counts(row)) continue;
    const double saved = std::invoke(saving, row.*memory);
    if (most.row == nullptr || saved > most.saving) most = {&row, saved};
  }
  return most;
}

// Each column's own maximum of the rows that count, which may be at another row.
PgmoFigure largest_saving(std::string what, const std::vector<PgmoRow>& rows,
                          bool (*counts)(const PgmoRow&)) {
  PgmoFigure figure{
      .what = std::move(what), .section = "abstract, 1", .unit = Unit::kShare, .paper = 0.495};
  const auto fill = [&](std::optional<double>& cell, const char* column,
                        PgmoMemory PgmoRow::*memory, auto saving) {
    const Most most = most_saving(rows, memory, saving, counts);
    cell = most.saving;
    if (!figure.note.empty()) figure.note += "; ";
    figure.note += column + row_name(*most.row);
  };
  const auto exact_pool = &PgmoMemory::saving_against_exact_pool;
  fill(figure.ours, "ours: ", &PgmoRow::ours, &PgmoMemory::saving);
  fill(figure.exact_pool, "exact-pool: ", &PgmoRow::ours, exact_pool);
  fill(figure.as_chainer, "as Chainer: ", &PgmoRow::as_chainer, &PgmoMemory::saving);
  fill(figure.chainer_exact_pool, "its exact-pool: ", &PgmoRow::as_chainer, exact_pool);
  return figure;
}

// Returns the ratio nearest to the paper's, which names neither batch nor allocator.
PgmoFigure nearest_ratio(const std::vector<PgmoRatio>& ratios) {
  constexpr double kPaper = 12.5;
  const auto nearest = [&](double PgmoRatio::*column) {
    return *std::ranges::min_element(
        ratios, {}, [=](const PgmoRatio& ratio) { return std::abs(ratio.*column - kPaper); });
  };
  const PgmoRatio ours = nearest(&PgmoRatio::ours), chainer = nearest(&PgmoRatio::as_chainer);
  return {
      .what = "Inception-ResNet's memory in AlexNet's, the nearest",
      .section = "1",
      .unit = Unit::kTimes,
      .paper = kPaper,
      .ours = ours.ours,
      .as_chainer = chainer.as_chainer,
      .note = fmt::format("ours: {}, batch {}; as Chainer: {}, batch {}; the paper names "
                          "neither batch nor allocator, and all ratios are below",
                          ours.allocator, ours.batch_size, chainer.allocator, chainer.batch_size)};
}

// Returns the highest speed of the rows that count, and where it was.
PgmoFigure fastest(PgmoFigure figure, const std::vector<PgmoTime>& rows,
                   bool (*counts)(const PgmoTime&)) {
  for (const PgmoTime& row : rows) {
    const std::optional<double> speed = row.speed();
    if (!counts(row) || !speed || speed <= figure.ours) continue;
    figure.ours = speed;
    figure.note = fmt::format("{}, {}, batch {}", row.network, pgmo_mode_name(row.mode),
                              row.arms[1].batch_size);
  }
  if (!figure.ours) figure.note = "needs --measure and a capacity that is known";
  return figure;
}

// Adds what figure 3 shows, of the device that ran our steps; the paper's was a P100.
void add_speeds(const std::optional<PgmoTimes>& times, std::vector<PgmoFigure>& figures) {
  PgmoFigure words{.what = "seq2seq, 100 words, inference of 1: time saved",
                   .section = "5.3.1",
                   .unit = Unit::kShare,
                   .paper = 0.238,
                   .note = kTimeNote};
  PgmoFigure same{.what = "training of images: speed at the same batch (figure 3a)",
                  .section = "5.2",
                  .unit = Unit::kTimes,
                  .paper = 2.19,
                  .note = kTimeNote};
  PgmoFigure larger = same, all = same;
  larger.what = "the same, with the larger batch that fits (figure 3a)";
  larger.paper = 3.95;
  all.what = "speed of all training and inference, up to";
  all.section = "abstract, 1";
  all.paper = 4;
  if (times) {
    std::vector<PgmoTime> rows = times->rows;
    const PgmoTime& translation = *std::ranges::find(rows, "d", &PgmoTime::panel);
    if (const std::optional<double> speed = translation.speed()) words.ours = 1 - 1 / *speed;
    words.note = "by the policy grow, as in figure 3d";
    same = fastest(same, rows, [](const PgmoTime& row) { return row.panel == "a"; });
    const auto any = [](const PgmoTime&) { return true; };
    larger = fastest(larger, times->largest, any);
    rows.insert(rows.end(), times->largest.begin(), times->largest.end());
    all = fastest(all, rows, any);
  }
  figures.insert(figures.end(), {words, same, larger, all});
}

}  // namespace

std::vector<PgmoFigure> pgmo_figures(const PgmoRowOf& row_of,
                                     const PgmoReproduction& reproduction) {
  const auto inference = [&](std::string_view network) -> const PgmoRow& {
    return row_of(network, Mode::kInference, 1);
  };
  const std::vector<PgmoRow>& rows = reproduction.rows;
  std::vector<PgmoFigure> figures;
  figures.push_back(planned_inference(inference("alexnet"), "AlexNet", 10'169'344));
  figures.push_back(planned_inference(inference("googlenet"), "GoogLeNet", 12'202'496));
  add_alexnet(row_of("alexnet", Mode::kTraining, 32), figures);
  figures.push_back(saving(inference("googlenet"), "GoogLeNet, inference of 1: saving", "5.2",
                           0.126, kSavingNote));
  figures.push_back(saving(inference("resnet50"), "ResNet-50, inference of 1: saving", "5.2", 0.100,
                           kSavingNote));
  figures.push_back(saving(inference(kSeq2Seq), "seq2seq, 100 words, inference of 1: saving",
                           "5.3.1", 0.146, kLstmNote));
  figures.push_back(saving_beforehand(inference(kSeq2Seq), 0.146));
  add_inception_resnet(row_of("inception-resnet", Mode::kTraining, 64), figures);
  figures.push_back(nearest_ratio(reproduction.ratios));
  figures.push_back(largest_saving("largest saving of the image networks", rows,
                                   [](const PgmoRow& row) { return row.network != kSeq2Seq; }));
  figures.push_back(
      largest_saving("largest saving of all networks", rows, [](const PgmoRow&) { return true; }));
  add_speeds(reproduction.times, figures);
  return figures;
}

std::string first_networks(const std::vector<PgmoRow>& rows) {
  const auto first = [&](PgmoMemory PgmoRow::*memory, auto saving) {
    return most_saving(rows, memory, saving,
                       [](const PgmoRow& row) {
                         return row.network != kSeq2Seq && row.mode == Mode::kTraining;
                       })
        .row->network;
  };
  const auto exact_pool = &PgmoMemory::saving_against_exact_pool;
  return fmt::format("{} against the pool, {} against exact-pool; as Chainer {} and {}",
                     first(&PgmoRow::ours, &PgmoMemory::saving), first(&PgmoRow::ours, exact_pool),
                     first(&PgmoRow::as_chainer, &PgmoMemory::saving),
                     first(&PgmoRow::as_chainer, exact_pool));
}

}  // namespace skyline
