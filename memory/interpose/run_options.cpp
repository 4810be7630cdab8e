#include "memory/interpose/run_options.h"

#include <fmt/format.h>

#include <concepts>
#include <functional>

namespace skyline {
namespace {

struct Setting {
  std::string_view name;
  std::function<std::string()> get;
  std::function<void(std::string_view)> set;
};

template <typename T>  // std::string, std::filesystem::path or a number
Setting setting(std::string_view name, T& value) {
  if constexpr (std::unsigned_integral<T>) {
    return {name, [&value] { return fmt::to_string(static_cast<std::uint64_t>(value)); },
            [&value](std::string_view text) {
              value = static_cast<T>(std::stoull(std::string(text)));
            }};
  } else {
    return {name, [&value] { return std::string(value); },
            [&value](std::string_view text) { value = text; }};
  }
}

std::vector<Setting> settings(RunOptions& options) {
  return {setting("threshold", options.threshold_bytes),
          setting("allocator", options.allocator),
          setting("before", options.before),
          setting("period", options.period),
          setting("process", options.process),
          setting("record", options.record),
          setting("plan", options.plan),
          setting("write_trace", options.write_trace),
          setting("report", options.report)};
}

std::string as_json(std::string_view text) {
  std::string json = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') json += '\\';
    if (static_cast<unsigned char>(letter) >= ' ') json += letter;
  }
  return json + '"';
}

std::string known(const std::optional<std::uint64_t>& number) {
  return number ? fmt::to_string(*number) : "null";
}

std::string mib(const std::optional<std::uint64_t>& bytes) {
  return bytes ? fmt::format("{:.1f}", static_cast<double>(*bytes) / (1 << 20)) : "–";
}

}  // namespace

std::string RunOptions::text() const {
  RunOptions copy = *this;
  std::string lines;
  for (const Setting& one : settings(copy)) lines += fmt::format("{}={}\n", one.name, one.get());
  return lines;
}

RunOptions RunOptions::read(std::string_view text) {
  RunOptions options;
  const std::vector<Setting> all = settings(options);
  for (std::size_t end; !text.empty(); text.remove_prefix(std::min(end + 1, text.size()))) {
    end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string_view name = line.substr(0, line.find('='));
    for (const Setting& one : all) {
      if (one.name == name && name != line) one.set(line.substr(name.size() + 1));
    }
  }
  return options;
}

std::vector<RunFigure> figures(const RunReport& report) {
  std::vector<RunFigure> all = {
      {"command", "text", "the program", as_json(report.command)},
      {"steps", "count", "marked or found", fmt::to_string(report.steps)},
      {"period", "count", "requests of a step that was found", known(report.period)},
      {"requests", "count", "large ones", fmt::to_string(report.requests)},
      {"planned_requests", "count", "served from the plan",
       fmt::to_string(report.planned_requests)},
      {"planned_blocks", "count", "of the last plan", fmt::to_string(report.planned_blocks)},
      {"plan_bytes", "bytes", "the last plan's peak", known(report.plan_bytes)},
      {"bound_bytes", "bytes", "no plan of that step needs less", known(report.bound_bytes)},
      {"plans", "count", "made after the first", fmt::to_string(report.plans)},
      {"planning_seconds", "seconds", "of all plans", fmt::to_string(report.planning_seconds)},
      {"deviations", "count", "from the plans", fmt::to_string(report.deviations)},
      {"other_threads", "count", "large requests that were left to the C library",
       fmt::to_string(report.other_threads)},
      {"large_alignment", "count", "the same, aligned to more than 512 bytes",
       fmt::to_string(report.large_alignment)},
      {"zeroed", "count", "the same, of calloc outside of steps or above 256 MiB",
       fmt::to_string(report.zeroed)},
      {"refused", "count", "the same, for which there was no memory",
       fmt::to_string(report.refused)},
      {"peak_resident_bytes", "bytes", "of the process",
       fmt::to_string(report.peak_resident_bytes)},
      {"problem", "text", "why planning stopped",
       report.problem.empty() ? "null" : as_json(report.problem)}};
  for (const ServedSteps& served : report.served) {
    const auto add = [&](std::string_view name, std::string_view unit, std::string_view meaning,
                         std::string value) {
      all.push_back({fmt::format("{}_{}", served.server, name), unit, meaning, std::move(value)});
    };
    add("steps", "count", "served by it wholly", fmt::to_string(served.steps));
    add("seconds", "seconds", "of these steps", fmt::to_string(served.seconds));
    add("system_seconds", "seconds", "of the system's work in them",
        fmt::to_string(served.system_seconds));
    add("page_faults", "count", "in these steps", fmt::to_string(served.page_faults));
    add("held_bytes", "bytes", "the most held for large blocks", known(served.held_bytes));
  }
  return all;
}

std::string RunReport::json() const {
  std::string line;
  for (const RunFigure& figure : figures(*this)) {
    line += fmt::format("{}\"{}\":{}", line.empty() ? "{" : ",", figure.name, figure.value);
  }
  return line + "}\n";
}

std::string RunReport::text() const {
  std::string text =
      fmt::format("{:<10}  {:>6}  {:>10}  {:>12}  {:>14}  {:>10}\n", "served by", "steps",
                  "ms a step", "faults a step", "system ms a step", "MiB held");
  for (const ServedSteps& row : served) {
    const auto a_step = [&row](double sum) {
      return row.steps == 0 ? std::string("–")
                            : fmt::format("{:.1f}", sum / static_cast<double>(row.steps));
    };
    text += fmt::format("{:<10}  {:>6}  {:>10}  {:>13}  {:>16}  {:>10}\n", row.server, row.steps,
                        a_step(1e3 * row.seconds), a_step(static_cast<double>(row.page_faults)),
                        a_step(1e3 * row.system_seconds), mib(row.held_bytes));
  }
  if (plan_bytes && bound_bytes) {
    text +=
        fmt::format("plan of {} blocks: {} MiB, bound {} MiB; {} later plans, {:.2f} s in all\n",
                    planned_blocks, mib(plan_bytes), mib(bound_bytes), plans, planning_seconds);
  }
  text += fmt::format(
      "{} large requests: {} from the plan, {} deviations; left to the C library: {} of "
      "other threads, {} by alignment, {} zeroed, {} refused\n",
      requests, planned_requests, deviations, other_threads, large_alignment, zeroed, refused);
  text += fmt::format("peak resident set of the process: {} MiB\n", mib(peak_resident_bytes));
  if (!problem.empty()) text += "planning stopped: " + problem + "\n";
  return text;
}

}  // namespace skyline
