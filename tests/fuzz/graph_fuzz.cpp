// Any bytes are either a graph, which is equal after writing and reading it back, or end in a
// GraphError of one line; never in another exception or a crash.
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "memory/errors.h"
#include "memory/formats/graph_file.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

std::string written(const skyline::GraphFile& file) {
  std::ostringstream out;
  skyline::write_graph(out, file.graph, file.name);
  return out.str();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<const char*>(data), size));
  try {
    const skyline::GraphFile file = skyline::read_graph(in, "fuzz");
    std::istringstream copy(written(file));
    const skyline::GraphFile back = skyline::read_graph(copy, "copy");
    require(written(back) == copy.str());
    require(back.name == file.name && back.graph.ops.size() == file.graph.ops.size());
    require(skyline::resident_bytes(back.graph) == skyline::resident_bytes(file.graph));
  } catch (const skyline::GraphError& error) {
    require(error.facts().source == "fuzz");
    require(std::string_view(error.what()).find('\n') == std::string_view::npos);
  }
  return 0;
}
