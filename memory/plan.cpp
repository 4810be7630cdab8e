#include "memory/plan.h"

namespace skyline {

double Plan::gap() const noexcept {
  if (lower_bound == 0) return 0;
  return (static_cast<double>(peak) - static_cast<double>(lower_bound)) /
         static_cast<double>(lower_bound);
}

}  // namespace skyline
