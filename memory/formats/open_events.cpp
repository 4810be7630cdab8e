#include "memory/formats/open_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <istream>
#include <sstream>
#include <utility>
#include <vector>

#include "memory/errors.h"
#include "memory/formats/csv/csv_reader.h"
#include "memory/formats/csv/event_csv.h"
#include "memory/formats/csv/rmm_log.h"
#include "memory/formats/csv/trace_csv.h"
#include "memory/formats/pytorch/snapshot_reader.h"
#include "memory/replay/trace_events.h"

namespace skyline {
namespace {

constexpr std::string_view kFormatNames[] = {"auto", "events", "rmm", "snapshot", "minimalloc"};
constexpr std::size_t kLongestHeaderBytes = 4096;
constexpr const char* kKnownFormats =
    "expected an event trace (header event,id,bytes), RMM's log (Thread,Time,Action,Pointer,Size,"
    "Stream), a MiniMalloc trace (id,lower,upper,size) or a PyTorch snapshot (a pickle of protocol "
    "2 to 5)";

// Reads up to the end of the first line that is not blank, or kLongestHeaderBytes.
std::string read_head(std::istream& in) {
  std::string head;
  bool begun = false;
  for (char c = 0; head.size() < kLongestHeaderBytes && in.get(c);) {
    head += c;
    if (c == '\n' && begun) break;
    begun = begun || (c != '\n' && c != '\r');
  }
  return head;
}

std::vector<std::string> header_fields(const std::string& head, std::string_view source) {
  std::istringstream text(head);
  CsvReader records(text, source);
  std::vector<std::string> fields;
  if (!records.next()) return fields;
  for (const std::string_view field : records.fields()) fields.emplace_back(trimmed_cell(field));
  return fields;
}

// Pickles of protocols 2 and later begin with their protocol, earlier ones with a mark or an empty
// container, which is then put into the memo or filled.
std::string_view early_pickle(std::string_view head) {
  const auto begins = [&](std::string_view first, std::string_view second) {
    return head.size() > 1 && first.find(head[0]) != first.npos &&
           second.find(head[1]) != second.npos;
  };
  if (begins("(", "dl")) return "0";
  return begins("}]", "q(.") ? "1" : "";
}

EventFormat format_of(const std::string& head, std::string_view source) {
  if (head.starts_with(PickleDocument::kFirstByte)) return EventFormat::kSnapshot;
  if (const auto protocol = early_pickle(head); !protocol.empty()) {
    throw TraceError(
        {.source = std::string(source),
         .problem = fmt::format("is a pickle of protocol {}, expected 2 to 5: write it "
                                "with pickle.dump(snapshot, file, protocol=4)",
                                protocol)});
  }
  const std::vector<std::string> fields = header_fields(head, source);
  const auto has = [&](auto... names) {
    return (... || (std::ranges::find(fields, names) != fields.end()));
  };
  if (has("event")) return EventFormat::kEvents;
  if (has("Action") && has("Pointer")) return EventFormat::kRmm;
  if (has("lower", "start", "begin") && has("upper", "end")) return EventFormat::kMiniMalloc;
  const std::string shown = head.substr(0, head.find_last_not_of("\r\n") + 1);
  const std::string wrong = wrong_separator(shown);
  throw TraceError({.source = std::string(source),
                    .line = head.empty() ? std::size_t{0} : std::size_t{1},
                    .problem = fmt::format("{}, {}",
                                           head.empty()    ? "got no text"
                                           : wrong.empty() ? shown_cell(shown)
                                                           : wrong,
                                           kKnownFormats)});
}

}  // namespace

std::span<const std::string_view> event_format_names() { return kFormatNames; }

OpenedEvents open_events(std::istream& in, std::string_view source, const OpenOptions& options) {
  std::string head;
  EventFormat format = options.format;
  if (format == EventFormat::kAuto) {
    head = read_head(in);
    if (in.bad()) {
      throw TraceError({.source = std::string(source), .problem = "the text cannot be read"});
    }
    format = format_of(head, source);
  }
  if (format == EventFormat::kRmm) {
    return {std::make_unique<RmmLogReader>(in, source, std::move(head)), format};
  }
  if (format == EventFormat::kMiniMalloc) {
    Trace trace = read_trace_csv(in, source, std::move(head));
    return {std::make_unique<TraceEventReader>(std::move(trace), source), format};
  }
  if (format == EventFormat::kSnapshot) {
    return {std::make_unique<SnapshotReader>(in, source, std::move(head), options.device), format};
  }
  return {std::make_unique<EventCsvReader>(in, source, std::move(head)), EventFormat::kEvents};
}

}  // namespace skyline
