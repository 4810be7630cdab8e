#include "memory/errors.h"

#include <fmt/core.h>

#include <algorithm>

namespace skyline {
namespace {

std::string sentence(const TraceErrorFacts& facts) {
  std::string where = facts.source;
  if (facts.line != 0) where += fmt::format(" line {}", facts.line);
  if (!facts.field.empty()) where += fmt::format(", field {}", facts.field);
  return fmt::format("{}: {}", where, facts.problem);
}

std::string sentence(const GraphErrorFacts& facts) {
  return fmt::format("{}{}{}: {}", facts.source, facts.op.empty() ? "" : " ", facts.op,
                     facts.problem);
}

// Returns the length of the UTF-8 character at the start; 0: none, or one that a terminal obeys.
std::size_t printable_bytes(std::string_view text) {
  const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
  const std::size_t length = byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if (byte(i) >> 6 != 2) return 0;
  }
  return byte(0) == 0xc2 && byte(1) < 0xa0 ? 0 : length;  // U+0080 to U+009F are controls
}

}  // namespace

GraphError::GraphError(GraphErrorFacts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

TraceError::TraceError(TraceErrorFacts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

std::string shown_text(std::string_view text) {
  std::string shown;
  while (!text.empty()) {
    const std::size_t bytes = printable_bytes(text);
    shown += bytes == 0 ? std::string_view("?") : text.substr(0, bytes);
    text.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  return shown;
}

std::string shown_cell(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::size_t end = std::min(text.size(), kLongest);
  while (end < text.size() && end > 0 && (static_cast<unsigned char>(text[end]) >> 6) == 2) --end;
  return fmt::format("got \"{}{}\"", shown_text(text.substr(0, end)), end < text.size() ? "…" : "");
}

}  // namespace skyline
