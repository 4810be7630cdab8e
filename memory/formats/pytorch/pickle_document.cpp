#include "memory/formats/pytorch/pickle_document.h"

#include <bit>

#include "memory/formats/pytorch/pickle_machine.h"

namespace skyline {

PickleDocument::PickleDocument(std::string text, std::string_view source) : text_(std::move(text)) {
  PickleMachine(*this, source).run();
}

double PickleDocument::number(Value value) const {
  return std::bit_cast<double>(nodes_[value].bits);
}

std::string_view PickleDocument::text(Value value) const {
  return std::string_view(text_).substr(nodes_[value].bits, nodes_[value].length);
}

std::span<const PickleDocument::Value> PickleDocument::items(Value value) const {
  return containers_[nodes_[value].bits];
}

// The last of equal keys wins, as in Python.
std::optional<PickleDocument::Value> PickleDocument::find(Value dict, std::string_view key) const {
  if (kind(dict) != Kind::kDict) return std::nullopt;
  const std::span<const Value> pairs = items(dict);
  for (std::size_t i = pairs.size(); i >= 2; i -= 2) {
    if (kind(pairs[i - 2]) == Kind::kString && text(pairs[i - 2]) == key) return pairs[i - 1];
  }
  return std::nullopt;
}

std::string_view pickle_kind_name(PickleDocument::Kind kind) {
  switch (kind) {
    case PickleDocument::Kind::kNone:
      return "None";
    case PickleDocument::Kind::kBoolean:
      return "boolean";
    case PickleDocument::Kind::kInteger:
      return "integer";
    case PickleDocument::Kind::kLongInteger:
      return "integer beyond 64 bits";
    case PickleDocument::Kind::kFloat:
      return "float";
    case PickleDocument::Kind::kString:
      return "string";
    case PickleDocument::Kind::kBytes:
      return "bytes";
    case PickleDocument::Kind::kList:
      return "list";
    case PickleDocument::Kind::kTuple:
      return "tuple";
    case PickleDocument::Kind::kDict:
      return "dict";
  }
  return "unknown";
}

}  // namespace skyline
