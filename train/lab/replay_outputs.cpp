#include "train/lab/replay_outputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "memory/formats/chrome_trace.h"
#include "memory/formats/csv/rmm_log.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/sink.h"
#include "train/cli/usage_error.h"

namespace skyline {
namespace {

Sink sink_of(AtomicFile& file) {
  return [&file](std::string_view bytes) { file.write(bytes); };
}

void check_paths_differ(const ReplayFiles& files) {
  std::vector<std::filesystem::path> paths;
  for (const auto& path : {files.events, files.trace, files.rmm, files.chrome_trace}) {
    if (path.empty()) continue;
    const std::filesystem::path plain = std::filesystem::absolute(path).lexically_normal();
    if (std::ranges::find(paths, plain) != paths.end()) {
      throw UsageError(fmt::format("two outputs are to be written to {}", path.string()));
    }
    paths.push_back(plain);
  }
}

}  // namespace

bool ReplayFiles::of_one_allocator() const { return !rmm.empty() || !chrome_trace.empty(); }

bool ReplayFiles::none() const { return events.empty() && trace.empty() && !of_one_allocator(); }

ReplayOutputs::ReplayOutputs(const ReplayFiles& files, bool tagged) : files_(files) {
  check_paths_differ(files);
  if (!files.events.empty()) events_.emplace(sink_of(open(files.events)), tagged);
  if (!files.trace.empty()) {
    trace_.emplace(std::numeric_limits<std::size_t>::max(), TraceBuilder::Keep::kNames);
  }
}

ReplayOutputs::~ReplayOutputs() = default;

AtomicFile& ReplayOutputs::open(const std::filesystem::path& path) {
  return *open_.emplace_back(std::make_unique<AtomicFile>(path));
}

std::vector<ReplayObserver*> ReplayOutputs::observers(const std::string& name,
                                                      const Allocator& allocator) {
  if (!files_.rmm.empty()) {
    observers_.push_back(std::make_unique<RmmLogWriter>(sink_of(open(files_.rmm))));
  }
  if (!files_.chrome_trace.empty()) {
    observers_.push_back(
        std::make_unique<ChromeTraceWriter>(sink_of(open(files_.chrome_trace)), name, allocator));
  }
  std::vector<ReplayObserver*> all;
  for (const auto& observer : observers_) all.push_back(observer.get());
  return all;
}

void ReplayOutputs::apply(const LiveEvents& events) {
  if (events_) events_->write(events.event());
  if (trace_) trace_->apply(events);
}

void ReplayOutputs::finish(const LiveEvents& events) {
  if (events_) events_->finish();
  if (trace_) write_trace(events);
}

void ReplayOutputs::write_trace(const LiveEvents& events) {
  write_trace_csv(sink_of(open(files_.trace)), trace_->take(events));
}

void ReplayOutputs::commit() {
  for (const auto& file : open_) file->commit();
}

}  // namespace skyline
