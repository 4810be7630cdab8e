// Reads a trace and plans it with CBC: Skyline::formats and Skyline::solvers.
#include <fmt/format.h>

#include <sstream>

#include "memory/formats/csv/trace_csv.h"
#include "memory/solvers/solvers.h"

int main() {
  std::istringstream text("id,lower,upper,size\na,0,2,1000\nb,1,3,500\nc,2,4,1000\n");
  const skyline::Trace trace = skyline::read_trace_csv(text, "the example");
  fmt::print("mip {}\n",
             skyline::plan(trace, "mip", {.alignment = 1}, skyline::all_planners()).peak);
}
