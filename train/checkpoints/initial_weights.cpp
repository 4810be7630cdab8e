#include "train/checkpoints/initial_weights.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "train/checkpoints/checkpoint.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/checkpoints/weight_files.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

// The names in one warning; more would hide the others.
constexpr std::size_t kNamesTold = 20;

constexpr std::string_view kTypesRead = "F32, F16, BF16 and F64 are";

// DataParallel, Lightning, torch.compile() and Hugging Face put these before the names of what they
// wrap.
constexpr std::string_view kPrefixes[] = {"module.", "model.", "_orig_mod.", "transformer."};

std::string tensor_count(std::size_t count) {
  return fmt::format("{} {}", count, count == 1 ? "tensor" : "tensors");
}

std::vector<StoredTensor> tensors_of(const fs::path& from, InitialWeights& result) {
  if (!fs::exists(from)) {
    throw UsageError(fmt::format("--init-weights: no such file or folder: '{}'", from.string()));
  }
  if (!fs::is_directory(from) || !weights_in(from).empty()) return read_weights(from);
  LoadedCheckpoint loaded = load_checkpoint(from);
  result.warnings = std::move(loaded.warnings);
  return std::move(loaded.checkpoint.weights);
}

using Names = std::set<std::string, std::less<>>;

// Takes the prefixes off while most names have one and the network knows more names without it.
void take_prefixes_off(std::vector<StoredTensor>& tensors, const Names& known,
                       InitialWeights& result) {
  std::vector<std::string> names;
  for (const StoredTensor& tensor : tensors) names.push_back(tensor.name);
  const auto known_of = [&] {
    return std::ranges::count_if(names,
                                 [&](const std::string& name) { return known.contains(name); });
  };
  const auto before = known_of();
  std::string taken;
  const auto most_begin_with = [&](std::string_view prefix) {
    const auto with = std::ranges::count_if(
        names, [&](const std::string& name) { return name.starts_with(prefix); });
    return 2 * with > std::ssize(names);
  };
  for (;;) {
    const auto* const prefix = std::ranges::find_if(kPrefixes, most_begin_with);
    if (prefix == std::end(kPrefixes)) break;
    for (std::string& name : names) {
      if (name.starts_with(*prefix)) name.erase(0, prefix->size());
    }
    taken += *prefix;
  }
  if (known_of() <= before) return;
  std::size_t changed = 0;
  const Names all(names.begin(), names.end());
  if (all.size() < names.size()) return;  // two tensors would have one name
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (tensors[i].name != names[i]) ++changed;
    tensors[i].name = std::move(names[i]);
  }
  result.notes.push_back(
      fmt::format("took '{}' off the names of {}", taken, tensor_count(changed)));
}

bool equal_bytes(const StoredTensor& a, const StoredTensor& b) {
  if (a.dtype != b.dtype || a.shape != b.shape) return false;
  bool equal = true;
  for_each_piece(a, [&](std::uint64_t offset, std::span<const std::byte> piece) {
    std::vector<std::byte> other(piece.size());
    if (equal) b.read(offset, other);
    equal = equal && std::ranges::equal(piece, other);
  });
  return equal;
}

// Takes those that the network does without out of the tensors that are left over. Throws
// CheckpointError for one that is not what it must be equal to.
void drop_extras(const Network& network, const std::vector<StoredTensor>& tensors,
                 std::map<std::string_view, const StoredTensor*>& left_over, const fs::path& from) {
  for (const StoredExtra& extra : network.extras()) {
    std::erase_if(left_over, [&](const auto& tensor) {
      if (fnmatch(extra.name.c_str(), std::string(tensor.first).c_str(), 0) != 0) return false;
      const auto same = std::ranges::find(tensors, extra.same_as, &StoredTensor::name);
      if (!extra.same_as.empty() && same != tensors.end() && !equal_bytes(*tensor.second, *same)) {
        throw CheckpointError(
            fmt::format("--init-weights: '{}' of {} is not equal to '{}', but this network has one "
                        "weight for both",
                        tensor.first, from.string(), extra.same_as));
      }
      return true;
    });
  }
}

void warn(InitialWeights& result, const fs::path& from, std::vector<std::string> names,
          std::string_view what) {
  if (names.empty()) return;
  const std::size_t all = names.size();
  if (all > kNamesTold) {
    names.resize(kNamesTold);
    names.push_back(fmt::format("and {} more", all - kNamesTold));
  }
  result.warnings.push_back(
      fmt::format("{}: {} {}: {}", from.string(), tensor_count(all), what, fmt::join(names, ", ")));
}

}  // namespace

InitialWeights load_initial_weights(Context& context, const Network& network,
                                    const fs::path& from) {
  InitialWeights result;
  std::vector<StoredTensor> tensors = tensors_of(from, result);
  Names known;
  for (const StoredWeight& weight : network.weights()) known.insert(weight.name);
  take_prefixes_off(tensors, known, result);
  std::map<std::string_view, const StoredTensor*> by_name;
  for (const StoredTensor& tensor : tensors) by_name.emplace(tensor.name, &tensor);
  std::vector<std::string> missing, different, not_read, left_over;
  std::map<std::string_view, std::size_t> converted;
  for (const StoredWeight& weight : network.weights()) {
    const auto found = by_name.extract(weight.name);
    if (!weight.value) continue;  // a new run has seen no batch
    ++result.all;
    if (found.empty()) {
      missing.push_back(weight.name);
    } else if (const StoredType type = found.mapped()->dtype; !converts_to_f32(type)) {
      not_read.push_back(fmt::format("{} ({})", weight.name, stored_type_name(type)));
    } else if (const StoredTensor tensor = as_f32(*found.mapped()); !fits(tensor, weight)) {
      different.push_back(fmt::format("{} ({}, here {})", weight.name, spec_text(*found.mapped()),
                                      weight.value.spec().str()));
    } else {
      load(context, finite(tensor, from.string()), weight);
      if (type != StoredType::kF32) ++converted[stored_type_name(type)];
      ++result.loaded;
    }
  }
  for (const auto& [type, count] : converted) {
    result.notes.push_back(fmt::format("converted {} from {} to F32", tensor_count(count), type));
  }
  drop_extras(network, tensors, by_name, from);
  for (const auto& [name, tensor] : by_name) left_over.emplace_back(name);
  warn(result, from, std::move(different), "of another shape, not loaded");
  warn(result, from, not_read,
       fmt::format("of a type that is not read ({}), not loaded", kTypesRead));
  warn(result, from, missing, "missing, initial values kept");
  warn(result, from, std::move(left_over), "not used");
  if (result.loaded > 0) return result;
  const std::string first = tensors.empty() ? "" : tensors.front().name;
  throw CheckpointError(fmt::format(
      "--init-weights: no tensor of {} fits this model; {}", from.string(),
      !not_read.empty()
          ? fmt::format("types that are not read: {}; {}", not_read.front(), kTypesRead)
      : missing.empty() ? "all shapes differ"
                        : fmt::format("it has no '{}'{}", missing.front(),
                                      first.empty() ? "" : fmt::format(", but '{}'", first))));
}

}  // namespace skyline
