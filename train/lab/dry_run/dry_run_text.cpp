// The text of a dry run: sentences and tables of less than 80 columns.

#include <fmt/format.h>

#include <algorithm>

#include "memory/replay/live_bytes.h"
#include "train/cli/byte_sizes.h"
#include "train/cli/table.h"
#include "train/lab/dry_run/dry_run_answer.h"
#include "train/options/train_options.h"

namespace skyline {
namespace {

constexpr std::size_t kLayersShown = 8;

std::string_view item_of(const DryRunResult& answer) {
  const std::string_view items = task_of(answer.question.program.model).items;
  return items.substr(0, items.size() - 1);
}

std::string percent_of(std::uint64_t part, std::uint64_t whole, int digits) {
  return whole == 0 ? "" : percent(static_cast<double>(part) / static_cast<double>(whole), digits);
}

// Names a category of resident memory.
std::string_view plural_name(Category category) {
  switch (category) {
    case Category::kParameter:
      return "parameters";
    case Category::kParameterGradient:
      return "gradients";
    case Category::kState:
      return "running values";
    default:
      return category_name(category);
  }
}

std::string bytes_or_nothing(std::uint64_t bytes) {
  return bytes > 0 ? format_bytes(bytes) : std::string();
}

// Returns "parameters 238 MiB, gradients 238 MiB", two categories per line.
std::string resident_text(const DryRunResult& answer) {
  const CategoryBytes parts = resident_parts(answer.facts.run, answer.plan.alignment);
  std::vector<std::string> named;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i] == 0) continue;
    named.push_back(
        fmt::format("{} {}", plural_name(static_cast<Category>(i)), format_bytes(parts[i])));
  }
  std::string text = fmt::format("resident   {}", format_bytes(answer.facts.resident_bytes));
  for (std::size_t i = 0; i < named.size(); ++i) {
    text += i == 0 ? ": " : i % 2 == 0 ? ",\n           " : ", ";
    text += named[i];
  }
  return text + "\n";
}

// --- budgets ---

std::string budgets_text(const DryRunResult& answer) {
  if (answer.budgets.empty()) return {};
  const bool has_rounds = std::ranges::any_of(
      answer.budgets, [](const BudgetStep& step) { return !rounds_text(step.savings).empty(); });
  Table table(has_rounds ? "memory | share | longer by | at least | <in rounds"
                         : "memory | share | longer by | at least");
  const std::uint64_t most = answer.budgets.front().bytes;
  for (const BudgetStep& step : answer.budgets) {
    std::vector<std::string> row = {format_bytes_up(step.bytes), percent_of(step.bytes, most, 1),
                                    percent(step.overhead), percent(step.bound)};
    const std::string rounds = rounds_text(step.savings);
    if (has_rounds) row.push_back(rounds.empty() ? "none" : rounds);
    table.add_row(std::move(row));
  }
  std::string text = table.str() + "seconds " + answer.question.seconds.source + "\n\n";
  if (answer.divided.empty()) return text;
  Table batches("batches of a step | memory | share | longer by");
  for (const DividedStep& step : answer.divided) {
    batches.add_row({batch_text(step.batch_size, step.micro_batches),
                     format_bytes_up(step.reserved_bytes), percent_of(step.reserved_bytes, most, 1),
                     percent(step.overhead)});
  }
  return text + batches.str() + "--batch-size and --micro-batches; seconds by a model\n\n";
}

std::string slower_text(const DryRunResult& answer) {
  if (!answer.slower) return {};
  const std::string limit =
      fmt::format("{} at at most {:g} % longer", format_bytes(*answer.question.device_memory_bytes),
                  100 * *answer.question.slowdown);
  if (answer.slower->batch_size == 0) return "no batch fits " + limit + "\n";
  const BudgetAnswer& step = answer.slower->step;
  const std::string rounds = rounds_text(step.savings);
  return fmt::format("batch {} fits {}: it takes {} longer and {}{}\n",
                     format_count(answer.slower->batch_size), limit, percent(step.overhead()),
                     format_bytes(step.reserved_bytes),
                     rounds.empty() ? "" : fmt::format(", with {} in rounds", rounds));
}

// --- bytes by category and layer ---

std::string categories_text(const DryRunResult& answer) {
  const CategoryBytes parts = lower_bound_parts(answer.facts.trace, answer.plan.alignment);
  const CategoryBytes peaks = category_peaks(answer.facts.run, answer.plan.alignment);
  const CategoryBytes resident = resident_parts(answer.facts.run, answer.plan.alignment);
  Table table("<category | at most | at the fullest tick | share");
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (peaks[i] == 0 || resident[i] > 0) continue;
    table.add_row({std::string(category_name(static_cast<Category>(i))), format_bytes(peaks[i]),
                   bytes_or_nothing(parts[i]),
                   parts[i] > 0 ? percent_of(parts[i], answer.plan.lower_bound, 1) : ""});
  }
  return table.str();
}

void add_layer(Table& table, const std::string& name, const LayerBytes& layer,
               std::uint64_t lower_bound) {
  const std::uint64_t bytes = layer.bytes_at_lower_bound;
  table.add_row({name, bytes_or_nothing(layer.resident_bytes), bytes_or_nothing(layer.peak_bytes),
                 bytes_or_nothing(bytes), bytes > 0 ? percent_of(bytes, lower_bound, 1) : ""});
}

std::string layers_text(const DryRunResult& answer) {
  const std::uint64_t lower_bound = answer.plan.lower_bound;
  std::vector<LayerBytes> layers =
      layer_bytes(answer.facts.run, answer.facts.trace, Grouping::kTopLevel, answer.plan.alignment);
  std::ranges::stable_sort(layers, [](const LayerBytes& a, const LayerBytes& b) {
    return std::pair(a.bytes_at_lower_bound, a.peak_bytes) >
           std::pair(b.bytes_at_lower_bound, b.peak_bytes);
  });
  Table table("<block of layers | resident | at most | at the fullest tick | share");
  LayerBytes others;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (i < kLayersShown) {
      add_layer(table, layers[i].layer, layers[i], lower_bound);
    } else {
      others.resident_bytes += layers[i].resident_bytes;
      others.bytes_at_lower_bound += layers[i].bytes_at_lower_bound;
    }
  }
  if (layers.size() > kLayersShown) {
    add_layer(table, fmt::format("{} others", layers.size() - kLayersShown), others, lower_bound);
  }
  return table.str();
}

// --- allocators ---

std::string above_bound(const DryRunResult& answer, const AllocatorUse& use) {
  const std::uint64_t needed = answer.facts.resident_bytes + answer.plan.lower_bound;
  if (use.peak_reserved_bytes < needed) {  // bfc rounds to less than 512 bytes
    return "-" + percent_of(needed - use.peak_reserved_bytes, answer.plan.lower_bound, 2);
  }
  return percent_of(use.peak_reserved_bytes - needed, answer.plan.lower_bound, 2);
}

// Marks an unproved size with *.
std::string largest_text(const LargestBatch& row) {
  if (row.batch_size == 0) return "none";
  if (row.batch_size == kMostImages) return "≥ " + format_count(row.batch_size);
  return format_count(row.batch_size) + (row.proved ? "" : " *");
}

std::string allocators_text(const DryRunResult& answer) {
  std::string titles = "<allocator | reserved | over bound | device calls";
  if (answer.largest) {
    titles += fmt::format(" | fits {} | largest batch",
                          format_bytes(*answer.question.device_memory_bytes));
  }
  Table table(titles);
  for (std::size_t i = 0; i < answer.allocators.size(); ++i) {
    const AllocatorUse& use = answer.allocators[i].unlimited;
    std::vector<std::string> row = {use.allocator, "does not fit", "", ""};
    if (use.fits) {
      const std::uint64_t calls = use.device_allocations + use.later_device_allocations;
      row = {use.allocator, format_bytes(use.peak_reserved_bytes), above_bound(answer, use),
             format_count(static_cast<std::int64_t>(calls))};
    }
    if (answer.largest) {
      row.push_back(answer.allocators[i].on_device->fits ? "yes" : "no");
      row.push_back(largest_text(answer.largest->allocators[i]));
    }
    table.add_row(std::move(row));
  }
  return table.str() +
         "reserved: the most taken from a device without limit, resident memory included\n";
}

std::string too_large_text(const DryRunResult& answer) {
  const AllocatorUse* least = nullptr;
  for (const AllocatorUse& use : answer.single_image) {
    if (!use.fits) continue;  // refused by the allocator's own limit
    if (least == nullptr || use.peak_reserved_bytes < least->peak_reserved_bytes) least = &use;
  }
  std::string text = fmt::format("not even one {} fits {}", item_of(answer),
                                 format_bytes(*answer.question.device_memory_bytes));
  if (least != nullptr) {
    text += fmt::format(";\n           it needs {} under {}, {} of it resident",
                        format_bytes(least->peak_reserved_bytes), least->allocator,
                        format_bytes(answer.facts.resident_bytes));
  }
  if (answer.inference_batch) {
    text += *answer.inference_batch > 0 ? fmt::format(";\n           inference fits up to batch {}",
                                                      format_count(*answer.inference_batch))
                                        : std::string(";\n           nor does inference");
  }
  return text + "\n";
}

// The first answer: whether the step fits, and with which batch.
std::string fits_text(const DryRunResult& answer) {
  if (!answer.single_image.empty()) return "fits       no: " + too_large_text(answer);
  const AllocatorAnswer* const least = least_allocator(answer);
  if (least == nullptr || (!answer.machine_batch && !answer.largest)) return {};
  const std::optional<MachineMemory>& machine = answer.question.machine;
  const std::uint64_t needed = least->unlimited.peak_reserved_bytes;
  const bool fits = least->on_device ? least->on_device->fits : needed <= machine->bytes;
  const LargestBatch& batch =
      machine
          ? *answer.machine_batch
          : answer.largest->allocators[static_cast<std::size_t>(least - answer.allocators.data())];
  return fmt::format("fits       {}: {} takes {}, {}the largest batch that fits is {}\n",
                     fits ? "yes" : "no", least->unlimited.allocator, format_bytes(needed),
                     machine ? fmt::format("this machine leaves {}\n           ({}); ",
                                           format_bytes(machine->bytes), limit_of(*machine))
                             : fmt::format("the device has {};\n           ",
                                           format_bytes(*answer.question.device_memory_bytes)),
                     largest_text(batch));
}

std::string device_text(const DryRunResult& answer) {
  if (!answer.largest || !answer.single_image.empty()) return {};
  const LargestBatches& largest = *answer.largest;
  std::string text = fmt::format("largest batch: of {} sizes run, the largest served; ",
                                 format_count(largest.sizes_run));
  if (largest.at_limit) {
    text += fmt::format("the search ends at\n{} {}s\n", format_count(kMostImages), item_of(answer));
  } else {
    text += fmt::format("from {} {}s on the\nlive bytes alone pass {}\n",
                        format_count(largest.ceiling + 1), item_of(answer),
                        format_bytes(*answer.question.device_memory_bytes));
  }
  if (std::ranges::any_of(largest.allocators, [](const LargestBatch& row) {
        return !row.proved && row.batch_size < kMostImages;
      })) {
    text += "* its successor and a grid of larger sizes were refused, not every one\n";
  }
  return text;
}

std::string strategies_text(const DryRunResult& answer) {
  Table table("<strategy | requests | planned | saves | plan");
  const std::uint64_t nothing = answer.strategies.front().plan.peak;
  for (const Strategy& strategy : answer.strategies) {
    const std::uint64_t peak = strategy.plan.peak;
    table.add_row({strategy.name, format_count(static_cast<std::int64_t>(strategy.blocks)),
                   format_bytes(peak), peak < nothing ? percent_of(nothing - peak, nothing, 1) : "",
                   strategy.plan.proved_optimal ? "optimal" : gap_sentence(strategy.plan)});
  }
  return table.str();
}

std::string head(const DryRunResult& answer) {
  const DryRunRequest& question = answer.question;
  const Plan& plan = answer.plan;
  const bool training = question.program.mode == Mode::kTraining;
  std::string text =
      fmt::format("{} at batch {}, {}: {} parameters", question.program.model,
                  batch_text(question.program.batch_size, question.program.step.micro_batches),
                  training ? "training" : "inference", format_count(answer.facts.parameters));
  const std::int64_t trained = answer.facts.trained_parameters;
  const bool freezes = training && trained < answer.facts.parameters;
  text += freezes ? fmt::format(", {} of them trained\n", format_count(trained)) : "\n";
  text += fits_text(answer) + slower_text(answer) + resident_text(answer);
  text += fmt::format("one step   {} planned for {} requests by {},\n           {}\n",
                      format_bytes(plan.peak), format_count(std::ssize(answer.facts.trace.blocks)),
                      plan.planner, gap_sentence(plan));
  const Emulation& emulate = question.program.emulate;
  if (emulate.convolution_workspace_bytes) {
    text += fmt::format("           every convolution asks for {} of workspace\n",
                        format_bytes(*emulate.convolution_workspace_bytes));
  }
  if (emulate.chainer_ops) text += "           ops and their memory as in Chainer 3\n";
  if (answer.held) {
    const HeldOutput& held = *answer.held;
    text += fmt::format(
        "held       the output of {} ({}) keeps {} for the whole step,\n"
        "           which is then planned in {}\n",
        held.layer, held.op, format_bytes(held.bytes), format_bytes(held.plan.peak));
  }
  if (answer.budget) text += answer.budget->text() + "\n";
  return text + answer.order.text() + "\n";
}

}  // namespace

std::string gap_sentence(const Plan& plan) {
  return plan.proved_optimal && plan.peak == plan.lower_bound
             ? "gap 0 to the lower bound, so no plan needs less"
             : fmt::format("{:.2f} % above the lower bound{}", 100 * plan.gap(),
                           plan.proved_optimal ? ", proved optimal" : "");
}

std::string dry_run_text(const DryRunResult& answer) {
  return head(answer) + categories_text(answer) + "\n" + layers_text(answer) + "\n" +
         budgets_text(answer) + allocators_text(answer) + device_text(answer) + "\n" +
         strategies_text(answer);
}

}  // namespace skyline
