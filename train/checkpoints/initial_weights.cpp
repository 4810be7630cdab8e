#include "train/checkpoints/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <utility>

#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

// The names in one warning; more would hide the others.
constexpr std::size_t kNamesTold = 20;

std::vector<StoredTensor> tensors_of(const fs::path& from, InitialWeights& result) {
  if (!fs::exists(from)) {
    throw UsageError(fmt::format("--init-weights: no such file or folder: '{}'", from.string()));
  }
  if (!fs::is_directory(from)) return finite(read_safetensors(from).tensors, from.string());
  LoadedCheckpoint loaded = load_checkpoint(from);
  result.warnings = std::move(loaded.warnings);
  return std::move(loaded.checkpoint.weights);
}

void warn(InitialWeights& result, const fs::path& from, std::vector<std::string> names,
          std::string_view what) {
  if (names.empty()) return;
  const std::size_t all = names.size();
  if (all > kNamesTold) {
    names.resize(kNamesTold);
    names.push_back(fmt::format("and {} more", all - kNamesTold));
  }
  result.warnings.push_back(fmt::format("{}: {} {} {}: {}", from.string(), all,
                                        all == 1 ? "tensor" : "tensors", what,
                                        fmt::join(names, ", ")));
}

}  // namespace

InitialWeights load_initial_weights(Context& context, const Network& network,
                                    const fs::path& from) {
  InitialWeights result;
  const std::vector<StoredTensor> tensors = tensors_of(from, result);
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  std::vector<std::string> missing, different, left_over;
  for (const StoredWeight& weight : network.weights()) {
    const auto found = by_name.extract(weight.name);
    if (!weight.value) continue;  // a new run has seen no batch
    ++result.all;
    if (found.empty()) {
      missing.push_back(weight.name);
    } else if (!fits(*found.mapped(), weight)) {
      different.push_back(fmt::format("{} ({}, here {})", weight.name, spec_text(*found.mapped()),
                                      weight.value.spec().str()));
    } else {
      load(context, *found.mapped(), weight);
      ++result.loaded;
    }
  }
  for (const auto& [name, tensor] : by_name) left_over.emplace_back(name);
  warn(result, from, std::move(different), "of another shape or type, not loaded");
  warn(result, from, missing, "missing, initial values kept");
  warn(result, from, std::move(left_over), "not used");
  if (result.loaded > 0) return result;
  throw CheckpointError(fmt::format(
      "--init-weights: no tensor of {} fits this model; {}", from.string(),
      missing.empty() ? "all shapes differ" : fmt::format("it has no '{}'", missing.front())));
}

}  // namespace skyline
