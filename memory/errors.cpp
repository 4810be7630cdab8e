#include "memory/errors.h"

#include <fmt/core.h>

namespace skyline {
namespace {

std::string sentence(const TraceErrorFacts& facts) {
  std::string where = facts.source;
  if (facts.line != 0) where += fmt::format(" line {}", facts.line);
  if (!facts.field.empty()) where += fmt::format(", field {}", facts.field);
  return fmt::format("{}: {}", where, facts.problem);
}

}  // namespace

TraceError::TraceError(TraceErrorFacts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

}  // namespace skyline
