#include "memory/formats/pytorch/pickle_machine.h"

#include <fmt/format.h>

#include "memory/errors.h"

namespace skyline {

void PickleMachine::run() {
  if (text_.size() > PickleDocument::kMostBytes) {
    fail(
        fmt::format("got {} bytes, expected at most {}", text_.size(), PickleDocument::kMostBytes));
  }
  read_protocol();
  while (true) {
    begin_ = position_;
    const auto opcode = static_cast<PickleOpcode>(byte());
    if (opcode == PickleOpcode::kStop) break;
    step(opcode);
  }
  document_.root_ = pop();
}

void PickleMachine::fail(const std::string& problem) const {
  throw TraceError({.source = fmt::format("{} byte {}", source_, begin_), .problem = problem});
}

void PickleMachine::read_protocol() {
  if (text_.empty()) fail("got no bytes, expected a pickle");
  if (byte() != static_cast<std::uint8_t>(PickleOpcode::kProto)) {
    fail("got no protocol, expected a pickle of protocol 2 to 5");
  }
  const unsigned protocol = byte();
  if (protocol < 2 || protocol > 5) {
    fail(fmt::format("got pickle protocol {}, expected 2 to 5", protocol));
  }
}

// One flat table of opcodes.
void PickleMachine::step(PickleOpcode opcode) {
  switch (opcode) {
    case PickleOpcode::kProto:
      take(1);
      return;
    case PickleOpcode::kFrame:
      take(8);
      return;
    case PickleOpcode::kMark:
      return mark();
    case PickleOpcode::kPop:
      static_cast<void>(pop());
      return;
    case PickleOpcode::kPopMark:
      static_cast<void>(items_from_mark());
      return;
    case PickleOpcode::kNone:
      return push_number(Kind::kNone, 0);
    case PickleOpcode::kNewTrue:
      return push_number(Kind::kBoolean, 1);
    case PickleOpcode::kNewFalse:
      return push_number(Kind::kBoolean, 0);
    case PickleOpcode::kBinInt1:
      return push_number(Kind::kInteger, unsigned_number(1));
    case PickleOpcode::kBinInt2:
      return push_number(Kind::kInteger, unsigned_number(2));
    case PickleOpcode::kBinInt:
      return push_signed(4);
    case PickleOpcode::kLong1:
      return push_signed(unsigned_number(1));
    case PickleOpcode::kLong4:
      return push_signed(unsigned_number(4));
    case PickleOpcode::kBinFloat:
      return push_float();
    case PickleOpcode::kShortBinUnicode:
      return push_text(Kind::kString, unsigned_number(1));
    case PickleOpcode::kBinUnicode:
      return push_text(Kind::kString, unsigned_number(4));
    case PickleOpcode::kBinUnicode8:
      return push_text(Kind::kString, unsigned_number(8));
    case PickleOpcode::kShortBinString:
      return push_text(Kind::kString, unsigned_number(1));
    case PickleOpcode::kBinString:
      return push_text(Kind::kString, unsigned_number(4));
    case PickleOpcode::kShortBinBytes:
      return push_text(Kind::kBytes, unsigned_number(1));
    case PickleOpcode::kBinBytes:
      return push_text(Kind::kBytes, unsigned_number(4));
    case PickleOpcode::kBinBytes8:
      return push_text(Kind::kBytes, unsigned_number(8));
    case PickleOpcode::kEmptyList:
      return push_container(Kind::kList, {});
    case PickleOpcode::kEmptyTuple:
      return push_container(Kind::kTuple, {});
    case PickleOpcode::kEmptyDict:
      return push_container(Kind::kDict, {});
    case PickleOpcode::kList:
      return push_container(Kind::kList, items_from_mark());
    case PickleOpcode::kTuple:
      return push_container(Kind::kTuple, items_from_mark());
    case PickleOpcode::kTuple1:
      return push_container(Kind::kTuple, last_items(1));
    case PickleOpcode::kTuple2:
      return push_container(Kind::kTuple, last_items(2));
    case PickleOpcode::kTuple3:
      return push_container(Kind::kTuple, last_items(3));
    case PickleOpcode::kDict:
      return push_container(Kind::kDict, pairs(items_from_mark()));
    case PickleOpcode::kAppend:
      return extend(Kind::kList, last_items(1));
    case PickleOpcode::kAppends:
      return extend(Kind::kList, items_from_mark());
    case PickleOpcode::kSetItem:
      return extend(Kind::kDict, last_items(2));
    case PickleOpcode::kSetItems:
      return extend(Kind::kDict, pairs(items_from_mark()));
    case PickleOpcode::kMemoize:
      return memoize(memo_.size());
    case PickleOpcode::kBinPut:
      return memoize(unsigned_number(1));
    case PickleOpcode::kLongBinPut:
      return memoize(unsigned_number(4));
    case PickleOpcode::kBinGet:
      return recall(unsigned_number(1));
    case PickleOpcode::kLongBinGet:
      return recall(unsigned_number(4));
    default:
      fail(
          fmt::format("got the opcode {}, expected plain data (None, booleans, numbers, strings, "
                      "lists, tuples, dicts); nothing else is ever run",
                      pickle_opcode_name(static_cast<std::uint8_t>(opcode))));
  }
}

// --- bytes ---

// --- bytes of the program ---

std::string_view PickleMachine::take(std::uint64_t bytes) {
  if (bytes > text_.size() - position_) {
    fail(fmt::format("the pickle ends after {} bytes, in the middle of an opcode or without STOP",
                     text_.size()));
  }
  const std::string_view taken(text_.data() + position_, bytes);
  position_ += bytes;
  return taken;
}

// Little-endian.
std::uint64_t PickleMachine::unsigned_number(std::size_t bytes) {
  const std::string_view digits = take(bytes);
  std::uint64_t value = 0;
  for (std::size_t i = bytes; i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(digits[i]);
  }
  return value;
}

// --- values ---

void PickleMachine::push_node(PickleDocument::Node node) {
  if (document_.nodes_.size() >= std::numeric_limits<Value>::max()) fail("too many values");
  document_.nodes_.push_back(node);
  stack_.push_back(static_cast<Value>(document_.nodes_.size() - 1));
}

// Two's complement, little-endian, of any length.
void PickleMachine::push_signed(std::uint64_t bytes) {
  const std::string_view digits = take(bytes);
  if (digits.size() > 8) return push_number(Kind::kLongInteger, 0);
  const bool negative = !digits.empty() && static_cast<std::uint8_t>(digits.back()) >= 0x80;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(digits[i]);
  }
  push_number(Kind::kInteger, value);
}

// Big-endian, unlike all else.
void PickleMachine::push_float() {
  std::uint64_t value = 0;
  for (const char digit : take(8)) value = value << 8 | static_cast<std::uint8_t>(digit);
  push_number(Kind::kFloat, value);
}

void PickleMachine::push_text(Kind kind, std::uint64_t bytes) {
  const std::size_t from = position_;
  static_cast<void>(take(bytes));
  if (bytes > std::numeric_limits<std::uint32_t>::max()) fail("got a string of 4 GiB or more");
  push_node({.kind = kind, .length = static_cast<std::uint32_t>(bytes), .bits = from});
}

void PickleMachine::push_container(Kind kind, std::vector<Value> items) {
  document_.containers_.push_back(std::move(items));
  push_node({.kind = kind, .bits = document_.containers_.size() - 1});
}

// --- stack and memo ---

PickleDocument::Value PickleMachine::pop() {
  if (stack_.size() <= floor()) fail("the pickle takes a value that it did not give");
  const Value value = stack_.back();
  stack_.pop_back();
  return value;
}

std::vector<PickleDocument::Value> PickleMachine::last_items(std::size_t count) {
  if (stack_.size() - floor() < count) fail("the pickle takes a value that it did not give");
  return cut_stack(stack_.size() - count);
}

void PickleMachine::mark() {
  if (marks_.size() >= PickleDocument::kMostMarks) {
    fail(fmt::format("got more than {} values one inside the other", PickleDocument::kMostMarks));
  }
  marks_.push_back(stack_.size());
}

std::vector<PickleDocument::Value> PickleMachine::items_from_mark() {
  if (marks_.empty()) fail("the pickle closes what it did not open (no MARK)");
  const std::size_t from = marks_.back();
  marks_.pop_back();
  return cut_stack(from);
}

std::vector<PickleDocument::Value> PickleMachine::cut_stack(std::size_t from) {
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(from);
  std::vector<Value> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  return items;
}

std::vector<PickleDocument::Value> PickleMachine::pairs(std::vector<Value> items) const {
  if (items.size() % 2 != 0) fail("got a key without a value");
  return items;
}

// Items for the container on top of the stack.
void PickleMachine::extend(Kind kind, const std::vector<Value>& items) {
  if (stack_.size() <= floor() || document_.kind(stack_.back()) != kind) {
    fail(fmt::format("items are added to no {}", pickle_kind_name(kind)));
  }
  auto& container = document_.containers_[document_.nodes_[stack_.back()].bits];
  container.insert(container.end(), items.begin(), items.end());
}

// Picklers count their memo up; a higher number would only cost memory.
void PickleMachine::memoize(std::uint64_t index) {
  if (stack_.size() <= floor()) fail("nothing is there to be remembered");
  if (index > document_.nodes_.size()) {
    fail(fmt::format("got the memo {}, expected at most {}", index, document_.nodes_.size()));
  }
  if (index >= memo_.size()) memo_.resize(index + 1, kUnset);
  memo_[index] = stack_.back();
}

void PickleMachine::recall(std::uint64_t index) {
  if (index >= memo_.size() || memo_[index] == kUnset) {
    fail(fmt::format("got the memo {}, which was not set", index));
  }
  stack_.push_back(memo_[index]);
}

}  // namespace skyline
