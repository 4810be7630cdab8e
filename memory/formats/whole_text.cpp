#include "memory/formats/whole_text.h"

#include <algorithm>
#include <istream>

#include "memory/errors.h"

namespace skyline {

std::string whole_text(std::istream& in, std::string_view source) {
  constexpr std::size_t kFirstPieceBytes = std::size_t{1} << 14;
  std::string text;
  while (in) {
    const std::size_t length = text.size();
    const std::size_t piece = std::max(length, kFirstPieceBytes);
    text.resize(length + piece);
    in.read(text.data() + length, static_cast<std::streamsize>(piece));
    text.resize(length + static_cast<std::size_t>(in.gcount()));
  }
  if (in.bad()) {
    throw GraphError({.source = std::string(source), .problem = "the text cannot be read"});
  }
  return text;
}

}  // namespace skyline
