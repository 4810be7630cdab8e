#include "memory/formats/whole_text.h"

#include <algorithm>
#include <istream>
#include <limits>
#include <utility>

#include "memory/errors.h"

namespace skyline {

std::string text_to_end(std::istream& in, std::string head, std::size_t most) {
  constexpr std::size_t kFirstPieceBytes = std::size_t{1} << 12;
  std::string text = std::move(head);
  while (in && text.size() <= most) {
    const std::size_t length = text.size();
    const std::size_t piece = std::max(length, kFirstPieceBytes);
    text.resize(length + piece);
    in.read(text.data() + length, static_cast<std::streamsize>(piece));
    text.resize(length + static_cast<std::size_t>(in.gcount()));
  }
  return text;
}

std::string whole_text(std::istream& in, std::string_view source) {
  std::string text = text_to_end(in, {}, std::numeric_limits<std::size_t>::max());
  if (in.bad()) {
    throw GraphError({.source = std::string(source), .problem = "the text cannot be read"});
  }
  return text;
}

}  // namespace skyline
