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

}  // namespace

GraphError::GraphError(GraphErrorFacts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

TraceError::TraceError(TraceErrorFacts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

std::string shown_cell(std::string_view text) {
  constexpr std::size_t kLongest = 60;
  std::string shown(text.substr(0, kLongest));
  std::ranges::replace_if(
      shown, [](char c) { return static_cast<unsigned char>(c) < ' '; }, '?');
  return fmt::format("got \"{}{}\"", shown, text.size() > kLongest ? "…" : "");
}

}  // namespace skyline
