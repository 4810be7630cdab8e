#include "train/run/divergence.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "train/run/step_scope.h"

namespace skyline {
namespace {

// A key of its own, so that no other step has the same.
constexpr ShapeKey kRepeated = std::numeric_limits<std::uint64_t>::max();

std::string sentence(const Divergence::Facts& facts) {
  std::string text =
      "step " + std::to_string(facts.step) + ": the loss is " + std::to_string(facts.loss) + "; ";
  if (facts.layer.empty() && facts.op.empty()) {
    text += "the same forward pass, run again, was finite";
  } else {
    text += "the first layer that made it is " + (facts.layer.empty() ? facts.op : facts.layer) +
            " (" + facts.op + ", forward pass)";
  }
  if (!facts.parameter.empty()) {
    text +=
        "; " + facts.parameter + " was not finite before this step: an earlier update overflowed";
  }
  return text + (facts.advice.empty() ? "" : ". " + facts.advice);
}

bool is_finite(Context& context, const Tensor& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape().elements()));
  context.download(tensor.detach(), values.data());
  return std::all_of(values.begin(), values.end(),
                     [](float value) { return std::isfinite(value); });
}

}  // namespace

Divergence::Divergence(Facts facts)
    : std::runtime_error(sentence(facts)), facts_(std::move(facts)) {}

Divergence explain_divergence(ModelRun& run, const RandomStream& random, std::int64_t step,
                              const LossNotFinite& found) {
  Context& context = run.context;
  // The pass is only half a step, so it must not enter any plan.
  const Interruption interruption(context.allocator());
  Divergence::Facts facts{.step = step, .loss = found.loss()};
  for (const Parameter& parameter : run.network().parameters()) {
    if (is_finite(context, parameter.value)) continue;
    facts.parameter = parameter.name;
    break;
  }
  context.random() = random;
  const bool checked_before = std::exchange(context.watch().check_finite, true);
  try {
    // Never ended, so the scope abandons the step.
    const StepScope abandoned(context, kRepeated);
    context.begin_batch(found.batch());
    run.loss_of(found.batch());
  } catch (const NotFinite& origin) {
    facts.op = origin.op();
    facts.layer = origin.layer();
  }
  context.watch().check_finite = checked_before;
  return Divergence(std::move(facts));
}

}  // namespace skyline
