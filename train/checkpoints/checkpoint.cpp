#include "train/checkpoints/checkpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>
#include <utility>

#include "train/checkpoints/files.h"
#include "train/checkpoints/tensor_copies.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

namespace fs = std::filesystem;

constexpr const char* kWeights = "weights.safetensors";
constexpr const char* kState = "state.safetensors";
constexpr const char* kSums = "SHA256SUMS";
constexpr const char* kLatest = "latest";
constexpr const char* kPosition = "skyline.position";  // key of the state's metadata
constexpr std::string_view kPrefix = "step-";
constexpr const char* kTemporary = ".tmp";

// The folder "step-000000123", or "step-000000123-2" if that name was taken when it was saved.
struct Saved {
  std::int64_t step = 0;
  std::int64_t again = 1;
  fs::path path;
  std::pair<std::int64_t, std::int64_t> order() const { return {step, again}; }
};

std::string folder_name(std::int64_t step, std::int64_t again) {
  const std::string name = fmt::format("{}{:09}", kPrefix, step);
  return again == 1 ? name : fmt::format("{}-{}", name, again);
}

std::optional<Saved> parse_folder(const fs::path& path) {
  const std::string name = path.filename().string();
  if (!name.starts_with(kPrefix)) return std::nullopt;
  Saved saved{.path = path};
  const char* end = name.data() + name.size();
  auto number = std::from_chars(name.data() + kPrefix.size(), end, saved.step);
  if (number.ec == std::errc() && number.ptr != end && *number.ptr == '-') {
    number = std::from_chars(number.ptr + 1, end, saved.again);
  }
  // The round trip rejects everything else: signs, other digits, trailing text.
  if (number.ec != std::errc() || folder_name(saved.step, saved.again) != name) return std::nullopt;
  return saved;
}

// Returns the latest first; nothing for an unreadable folder.
std::vector<Saved> saved_checkpoints(const fs::path& folder) {
  std::vector<Saved> found;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (auto saved = parse_folder(entry.path())) found.push_back(std::move(*saved));
  }
  std::ranges::sort(found, std::greater{}, &Saved::order);
  return found;
}

// In the format of sha256sum.
std::string sum_line(std::string_view sha256, const char* name) {
  return fmt::format("{}  {}\n", sha256, name);
}

Safetensors checked(const fs::path& folder, const char* name, const std::string& sums) {
  if (sums.find(sum_line(file_sha256(folder / name), name)) == std::string::npos) {
    throw CheckpointError(fmt::format("{} is damaged: its SHA-256 is not the one in {}",
                                      (folder / name).string(), kSums));
  }
  Safetensors file = read_safetensors(folder / name);
  file.tensors = finite(std::move(file.tensors), (folder / name).string());
  read_through(file.tensors);
  return file;
}

Checkpoint load_folder(const fs::path& folder) {
  const std::string sums = read_file(folder / kSums);
  Safetensors weights = checked(folder, kWeights, sums);
  Safetensors state = checked(folder, kState, sums);
  const auto position = state.metadata.find(kPosition);
  const std::string file = (folder / kState).string();
  if (position == state.metadata.end()) {
    throw CheckpointError(fmt::format("{}: the metadata '{}' is missing", file, kPosition));
  }
  try {
    return {std::move(weights.tensors), std::move(state.tensors),
            training_position_from(position->second)};
  } catch (const std::exception& error) {
    throw CheckpointError(
        fmt::format("{}: the metadata '{}' is not valid: {}", file, kPosition, error.what()));
  }
}

// Returns the checkpoints to try: the target of `latest`, then the others, latest step first.
std::vector<fs::path> candidates(const fs::path& folder) {
  std::vector<fs::path> paths;
  std::error_code ignored;
  const fs::path latest = fs::read_symlink(folder / kLatest, ignored);
  if (!latest.empty()) paths.push_back(folder / latest.filename());
  for (const Saved& saved : saved_checkpoints(folder)) {
    if (paths.empty() || saved.path != paths.front()) paths.push_back(saved.path);
  }
  return paths;
}

void write_folder(const fs::path& folder, const Checkpoint& checkpoint) {
  std::error_code error;
  fs::remove_all(folder, error);
  fs::create_directories(folder, error);
  if (error) throw WriteError(folder, error.value());
  const auto metadata =
      checkpoint.position.data->value(kWeightsMetadata, std::map<std::string, std::string>{});
  std::map<std::string, std::string> all = {{"format", "skyline"}};
  all.insert(metadata.begin(), metadata.end());
  const std::string weights =
      write_safetensors(folder / kWeights, finite(checkpoint.weights, kWeights), all);
  const std::string state = write_safetensors(folder / kState, finite(checkpoint.state, kState),
                                              {{kPosition, to_text(checkpoint.position)}});
  write_atomically(folder / kSums, sum_line(weights, kWeights) + sum_line(state, kState));
}

void rename_durably(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::rename(from, to, error);
  if (error) throw WriteError(to, error.value());
  sync_directory(to.parent_path());
}

// Points `link` at `target`. A reader sees either the old or the new target.
void replace_link(const fs::path& link, const fs::path& target) {
  const fs::path temporary = link.string() + kTemporary;
  std::error_code error;
  fs::remove(temporary, error);
  fs::create_directory_symlink(target, temporary, error);
  if (error) throw WriteError(link, error.value());
  rename_durably(temporary, link);
}

// Step-….tmp or latest.tmp of a process that was killed; other names are the user's.
bool is_leftover(const fs::path& path) {
  const fs::path name = path.stem();
  return path.extension() == kTemporary && (name == kLatest || parse_folder(name));
}

// Removes the checkpoints that `saved` makes superfluous and the leftovers of killed processes. A
// folder that cannot be removed only costs space.
void remove_others(const fs::path& folder, const Saved& saved, int keep) {
  std::error_code ignored;
  int kept = 1;
  for (const Saved& other : saved_checkpoints(folder)) {
    if (other.path == saved.path) continue;
    if (other.step < saved.step && kept < keep) {
      ++kept;
    } else {
      fs::remove_all(other.path, ignored);
    }
  }
  std::vector<fs::path> leftovers;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    if (is_leftover(entry.path())) leftovers.push_back(entry.path());
  }
  for (const fs::path& leftover : leftovers) fs::remove_all(leftover, ignored);
}

}  // namespace

CheckpointStore::CheckpointStore(fs::path folder, int keep)
    : folder_(std::move(folder)), keep_(std::max(keep, 1)) {}

fs::path CheckpointStore::save(const Checkpoint& checkpoint) {
  Saved saved{.step = checkpoint.position.step};
  do {
    saved.path = folder_ / folder_name(saved.step, saved.again);
  } while (fs::exists(saved.path) && ++saved.again);
  const fs::path temporary = saved.path.string() + kTemporary;
  try {
    write_folder(temporary, checkpoint);
    rename_durably(temporary, saved.path);
  } catch (const WriteError&) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);  // gives a full disk its space back
    throw;
  } catch (const NotFiniteTensor& error) {
    std::error_code ignored;
    fs::remove_all(temporary, ignored);
    throw CheckpointError(
        fmt::format("step {} is not saved: {}: an update overflowed, try a lower --learning-rate; "
                    "earlier checkpoints remain",
                    saved.step, error.what()));
  }
  replace_link(folder_ / kLatest, saved.path.filename());
  remove_others(folder_, saved, keep_);
  return saved.path;
}

fs::path run_folder_of(const LoadedCheckpoint& loaded) {
  const fs::path checkpoint =
      loaded.path.has_filename() ? loaded.path : loaded.path.parent_path();  // without a last '/'
  const fs::path folder = checkpoint.parent_path();
  const bool holds_checkpoints = folder.filename() == "checkpoints" || folder.filename() == "best";
  return holds_checkpoints ? folder.parent_path() : folder;
}

LoadedCheckpoint load_checkpoint(const fs::path& path) {
  if (!fs::is_directory(path)) {
    throw UsageError(fmt::format("not a run folder or checkpoint: '{}'", path.string()));
  }
  if (fs::exists(path / kSums) || fs::exists(path / kWeights)) {
    return {load_folder(path), path, {}};
  }
  const fs::path inner = path / "checkpoints";
  const fs::path folder = fs::is_directory(inner) ? inner : path;
  std::vector<std::string> failures;
  for (const fs::path& candidate : candidates(folder)) {
    try {
      return {load_folder(candidate), candidate, std::move(failures)};
    } catch (const std::runtime_error& error) {
      failures.push_back(fmt::format("skipped the checkpoint {}: {}", candidate.filename().string(),
                                     error.what()));
    }
  }
  if (failures.empty()) {
    throw CheckpointError(fmt::format("{} contains no checkpoint", path.string()));
  }
  throw CheckpointError(
      fmt::format("no checkpoint in {} can be loaded; {}", path.string(), failures.front()));
}

}  // namespace skyline
