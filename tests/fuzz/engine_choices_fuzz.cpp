#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "framework/engines/engine_choices.h"

// A file of engine choices is refused, or read, written and read back unchanged.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using skyline::EngineChoices;
  EngineChoices plan;
  try {
    plan = EngineChoices::from_json({reinterpret_cast<const char*>(data), size}, "fuzz");
  } catch (const std::runtime_error&) {
    return 0;
  }
  if (plan.card_name().empty()) __builtin_trap();
  const EngineChoices again = EngineChoices::from_json(plan.to_json(), "written");
  if (again.by_problem != plan.by_problem || again.card != plan.card) __builtin_trap();
  if (!plan.card.empty()) skyline::require_same_card(plan, again.card, plan.cudnn);
  return 0;
}
