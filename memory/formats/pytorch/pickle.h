#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace skyline {

// Reads plain data from a Python pickle of protocol 2 to 5: None, booleans, integers, floats,
// strings, bytes, lists, tuples and dicts. A pickle is a program; opcodes that import, call or
// build anything else are refused by name, so reading a pickle never runs code.
//
// Values lie in flat tables, so nesting needs no recursion. A value that the pickle uses twice is
// stored once, and a list may hold itself. Memory: the text, 16 bytes a value, 4 an item and 24 a
// container.
class PickleDocument {
 public:
  enum class Kind : std::uint8_t {
    kNone,
    kBoolean,
    kInteger,
    kUnsigned,     // an integer from 2^63 to 2^64 − 1
    kLongInteger,  // beyond 64 bits; the value is dropped
    kFloat,
    kString,
    kBytes,
    kList,
    kTuple,
    kDict,
  };
  using Value = std::uint32_t;

  static constexpr char kFirstByte = '\x80';                       // opcode PROTO
  static constexpr std::size_t kMostBytes = std::size_t{1} << 32;  // of a pickle
  static constexpr std::size_t kMostMarks = 1000;  // open at once: Python's recursion limit

  // Reads up to the STOP opcode and ignores the rest. `source` names the pickle in errors. Throws
  // TraceError naming source, byte and opcode.
  PickleDocument(std::string text, std::string_view source);

  Value root() const noexcept { return root_; }
  Kind kind(Value value) const { return nodes_[value].kind; }
  bool boolean(Value value) const { return nodes_[value].bits != 0; }
  std::int64_t integer(Value value) const { return static_cast<std::int64_t>(nodes_[value].bits); }
  std::uint64_t unsigned_integer(Value value) const { return nodes_[value].bits; }
  std::size_t values() const noexcept { return nodes_.size(); }
  double number(Value value) const;
  std::string_view text(Value value) const;         // of a string or bytes; UTF-8 unchecked
  std::span<const Value> items(Value value) const;  // of a container; a dict's: key, value, key …
  // Returns the value of a key; empty if there is no such key or `dict` is not a dict.
  std::optional<Value> find(Value dict, std::string_view key) const;

 private:
  friend class PickleMachine;
  struct Node {
    Kind kind = Kind::kNone;
    std::uint32_t length = 0;  // of a text
    std::uint64_t bits = 0;    // the number, the position of the text or the container's index
  };

  std::string text_;
  std::vector<Node> nodes_;
  std::vector<std::vector<Value>> containers_;
  Value root_ = 0;
};

std::string_view pickle_kind_name(PickleDocument::Kind kind);  // "list"

}  // namespace skyline
