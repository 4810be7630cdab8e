#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "memory/formats/pytorch/pickle_document.h"

namespace skyline {

struct PickleOpcode;

// Runs a pickle, which is a program for a machine with a stack of values, marks in the stack, and a
// memo of values to use again. Knows plain data only, and fills a PickleDocument with it.
class PickleMachine {
 public:
  // The document holds the text. It and `source`, the pickle's name in errors, must outlive the
  // machine.
  PickleMachine(PickleDocument& document, std::string_view source)
      : document_(document), text_(document.text_), source_(source) {}

  // Runs to the STOP opcode and makes the value on the stack the document's root. Throws
  // TraceError.
  void run();

 private:
  using Kind = PickleDocument::Kind;
  using Value = PickleDocument::Value;
  static constexpr Value kUnset = std::numeric_limits<Value>::max();

  [[noreturn]] void fail(const std::string& problem) const;
  void read_protocol();
  void step(const PickleOpcode& opcode);

  // Bytes of the program.
  std::string_view take(std::uint64_t bytes);
  std::uint8_t byte() { return static_cast<std::uint8_t>(take(1)[0]); }
  std::uint64_t unsigned_number(std::size_t bytes);

  // Values.
  void push_node(PickleDocument::Node node);
  void push_number(Kind kind, std::uint64_t bits) { push_node({.kind = kind, .bits = bits}); }
  void push_signed(std::uint64_t bytes);
  void push_float();
  void push_text(Kind kind, std::uint64_t bytes);
  void push_container(Kind kind, std::vector<Value> items);

  // Stack and memo.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Value pop();
  std::vector<Value> last_items(std::size_t count);
  void mark();
  std::vector<Value> items_from_mark();
  std::vector<Value> cut_stack(std::size_t from);
  std::vector<Value> pairs(Kind kind, std::vector<Value> items) const;
  void extend(Kind kind, const std::vector<Value>& items);
  void memoize(std::uint64_t index);
  void recall(std::uint64_t index);

  PickleDocument& document_;
  const std::string& text_;
  std::string_view source_;
  std::size_t position_ = 0;
  std::size_t begin_ = 0;  // of the current opcode
  std::vector<Value> stack_;
  std::vector<std::size_t> marks_;
  std::vector<Value> memo_;
};

}  // namespace skyline
