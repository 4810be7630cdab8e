#include "memory/formats/pytorch/pickle.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <limits>

#include "memory/errors.h"

namespace skyline {
namespace {

using Kind = PickleDocument::Kind;

enum class Act : std::uint8_t {
  kRefuse,  // imports, calls or builds objects, or belongs to protocol 0
  kStop,
  kSkip,
  kMark,
  kPop,
  kPopMark,
  kConstant,
  kUnsigned,
  kSigned,
  kLong,
  kFloat,
  kText,
  kBuildLast,
  kBuildFromMark,
  kExtendLast,
  kExtendFromMark,
  kMemoize,
  kPut,
  kGet,
};

struct Opcode {
  std::uint8_t code = 0;
  std::string_view name = {};  // empty: no opcode
  Act act = Act::kRefuse;
  Kind kind = Kind::kNone;  // of the value
  // Bytes of the argument or of its length; the number of items; or the constant.
  std::uint8_t width = 0;
};

// Source: Python's Lib/pickletools.py.
constexpr Opcode kOpcodes[] = {
    {0x80, "PROTO", Act::kSkip, Kind::kNone, 1},
    {0x95, "FRAME", Act::kSkip, Kind::kNone, 8},
    {'.', "STOP", Act::kStop},
    {'(', "MARK", Act::kMark},
    {'0', "POP", Act::kPop},
    {'1', "POP_MARK", Act::kPopMark},
    {'N', "NONE", Act::kConstant, Kind::kNone, 0},
    {0x88, "NEWTRUE", Act::kConstant, Kind::kBoolean, 1},
    {0x89, "NEWFALSE", Act::kConstant, Kind::kBoolean, 0},
    {'K', "BININT1", Act::kUnsigned, Kind::kInteger, 1},
    {'M', "BININT2", Act::kUnsigned, Kind::kInteger, 2},
    {'J', "BININT", Act::kSigned, Kind::kInteger, 4},
    {0x8a, "LONG1", Act::kLong, Kind::kInteger, 1},
    {0x8b, "LONG4", Act::kLong, Kind::kInteger, 4},
    {'G', "BINFLOAT", Act::kFloat},
    {0x8c, "SHORT_BINUNICODE", Act::kText, Kind::kString, 1},
    {'X', "BINUNICODE", Act::kText, Kind::kString, 4},
    {0x8d, "BINUNICODE8", Act::kText, Kind::kString, 8},
    {'U', "SHORT_BINSTRING", Act::kText, Kind::kString, 1},
    {'T', "BINSTRING", Act::kText, Kind::kString, 4},
    {'C', "SHORT_BINBYTES", Act::kText, Kind::kBytes, 1},
    {'B', "BINBYTES", Act::kText, Kind::kBytes, 4},
    {0x8e, "BINBYTES8", Act::kText, Kind::kBytes, 8},
    {']', "EMPTY_LIST", Act::kBuildLast, Kind::kList, 0},
    {')', "EMPTY_TUPLE", Act::kBuildLast, Kind::kTuple, 0},
    {'}', "EMPTY_DICT", Act::kBuildLast, Kind::kDict, 0},
    {0x85, "TUPLE1", Act::kBuildLast, Kind::kTuple, 1},
    {0x86, "TUPLE2", Act::kBuildLast, Kind::kTuple, 2},
    {0x87, "TUPLE3", Act::kBuildLast, Kind::kTuple, 3},
    {'l', "LIST", Act::kBuildFromMark, Kind::kList},
    {'t', "TUPLE", Act::kBuildFromMark, Kind::kTuple},
    {'d', "DICT", Act::kBuildFromMark, Kind::kDict},
    {'a', "APPEND", Act::kExtendLast, Kind::kList, 1},
    {'s', "SETITEM", Act::kExtendLast, Kind::kDict, 2},
    {'e', "APPENDS", Act::kExtendFromMark, Kind::kList},
    {'u', "SETITEMS", Act::kExtendFromMark, Kind::kDict},
    {0x94, "MEMOIZE", Act::kMemoize},
    {'q', "BINPUT", Act::kPut, Kind::kNone, 1},
    {'r', "LONG_BINPUT", Act::kPut, Kind::kNone, 4},
    {'h', "BINGET", Act::kGet, Kind::kNone, 1},
    {'j', "LONG_BINGET", Act::kGet, Kind::kNone, 4},
    {'c', "GLOBAL"},
    {0x93, "STACK_GLOBAL"},
    {'R', "REDUCE"},
    {'b', "BUILD"},
    {'i', "INST"},
    {'o', "OBJ"},
    {0x81, "NEWOBJ"},
    {0x92, "NEWOBJ_EX"},
    {0x82, "EXT1"},
    {0x83, "EXT2"},
    {0x84, "EXT4"},
    {'P', "PERSID"},
    {'Q', "BINPERSID"},
    {0x8f, "EMPTY_SET"},
    {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"},
    {0x96, "BYTEARRAY8"},
    {0x97, "NEXT_BUFFER"},
    {0x98, "READONLY_BUFFER"},
    {'I', "INT"},
    {'L', "LONG"},
    {'F', "FLOAT"},
    {'S', "STRING"},
    {'V', "UNICODE"},
    {'p', "PUT"},
    {'g', "GET"},
    {'2', "DUP"},
};

constexpr std::array<Opcode, 256> by_code() {
  std::array<Opcode, 256> all{};
  for (std::size_t code = 0; code < all.size(); ++code) {
    all[code].code = static_cast<std::uint8_t>(code);
  }
  for (const Opcode& opcode : kOpcodes) all[opcode.code] = opcode;
  return all;
}
constexpr std::array<Opcode, 256> kByCode = by_code();

// "GLOBAL (0x63)"; "0xff" for a byte that is no opcode.
std::string shown(const Opcode& opcode) {
  if (opcode.name.empty()) return fmt::format("{:#04x}", opcode.code);
  return fmt::format("{} ({:#04x})", opcode.name, opcode.code);
}

}  // namespace

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
  using Value = PickleDocument::Value;
  static constexpr Value kUnset = std::numeric_limits<Value>::max();

  [[noreturn]] void fail(const std::string& problem) const;
  void read_protocol();
  void step(const Opcode& opcode);

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
  constexpr std::string_view kKindNames[] = {"None",
                                             "boolean",
                                             "integer",
                                             "integer above 2^63 - 1",
                                             "integer beyond 64 bits",
                                             "float",
                                             "string",
                                             "bytes",
                                             "list",
                                             "tuple",
                                             "dict"};
  return kKindNames[static_cast<std::size_t>(kind)];
}

void PickleMachine::run() {
  if (text_.size() > PickleDocument::kMostBytes) {
    fail(
        fmt::format("got {} bytes, expected at most {}", text_.size(), PickleDocument::kMostBytes));
  }
  read_protocol();
  while (true) {
    begin_ = position_;
    const Opcode& opcode = kByCode[byte()];
    if (opcode.act == Act::kStop) break;
    step(opcode);
  }
  document_.root_ = pop();
}

void PickleMachine::fail(const std::string& problem) const {
  throw TraceError({.source = fmt::format("{} byte {}", source_, begin_), .problem = problem});
}

void PickleMachine::read_protocol() {
  if (text_.empty()) fail("got no bytes, expected a pickle");
  if (byte() != static_cast<std::uint8_t>(PickleDocument::kFirstByte)) {
    fail("got no protocol, expected a pickle of protocol 2 to 5");
  }
  const unsigned protocol = byte();
  if (protocol < 2 || protocol > 5) {
    fail(fmt::format("got pickle protocol {}, expected 2 to 5", protocol));
  }
}

// One flat switch over the kinds of opcodes.
void PickleMachine::step(const Opcode& opcode) {
  switch (opcode.act) {
    case Act::kSkip:
      static_cast<void>(take(opcode.width));
      return;
    case Act::kMark:
      return mark();
    case Act::kPop:
      static_cast<void>(pop());
      return;
    case Act::kPopMark:
      static_cast<void>(items_from_mark());
      return;
    case Act::kConstant:
      return push_number(opcode.kind, opcode.width);
    case Act::kUnsigned:
      return push_number(Kind::kInteger, unsigned_number(opcode.width));
    case Act::kSigned:
      return push_signed(opcode.width);
    case Act::kLong:
      return push_signed(unsigned_number(opcode.width));
    case Act::kFloat:
      return push_float();
    case Act::kText:
      return push_text(opcode.kind, unsigned_number(opcode.width));
    case Act::kBuildLast:
      return push_container(opcode.kind, last_items(opcode.width));
    case Act::kBuildFromMark:
      return push_container(opcode.kind, pairs(opcode.kind, items_from_mark()));
    case Act::kExtendLast:
      return extend(opcode.kind, last_items(opcode.width));
    case Act::kExtendFromMark:
      return extend(opcode.kind, pairs(opcode.kind, items_from_mark()));
    case Act::kMemoize:
      return memoize(memo_.size());
    case Act::kPut:
      return memoize(unsigned_number(opcode.width));
    case Act::kGet:
      return recall(unsigned_number(opcode.width));
    case Act::kStop:
    case Act::kRefuse:
      break;
  }
  fail(fmt::format(
      "got the opcode {}, expected plain data (None, booleans, numbers, strings, lists, tuples, "
      "dicts); nothing else is ever run",
      shown(opcode)));
}

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
  const bool fits_unsigned = digits.size() == 9 && digits.back() == 0;
  if (digits.size() > 8 && !fits_unsigned) return push_number(Kind::kLongInteger, 0);
  const bool negative = !digits.empty() && static_cast<std::uint8_t>(digits.back()) >= 0x80;
  std::uint64_t value = negative ? ~std::uint64_t{0} : 0;
  for (std::size_t i = digits.size(); i-- > 0;) {
    value = value << 8 | static_cast<std::uint8_t>(digits[i]);
  }
  push_number(fits_unsigned && value >> 63 != 0 ? Kind::kUnsigned : Kind::kInteger, value);
}

// Floats alone are big-endian.
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
  if (stack_.size() <= floor()) fail("the pickle pops a value that it never pushed");
  const Value value = stack_.back();
  stack_.pop_back();
  return value;
}

std::vector<PickleDocument::Value> PickleMachine::last_items(std::size_t count) {
  if (stack_.size() - floor() < count) fail("the pickle pops a value that it never pushed");
  return cut_stack(stack_.size() - count);
}

void PickleMachine::mark() {
  if (marks_.size() >= PickleDocument::kMostMarks) {
    fail(fmt::format("got values nested more than {} deep", PickleDocument::kMostMarks));
  }
  marks_.push_back(stack_.size());
}

std::vector<PickleDocument::Value> PickleMachine::items_from_mark() {
  if (marks_.empty()) fail("the pickle closes a container without a MARK");
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

// Returns the items; refuses a key without a value.
std::vector<PickleDocument::Value> PickleMachine::pairs(Kind kind, std::vector<Value> items) const {
  if (kind == Kind::kDict && items.size() % 2 != 0) fail("got a key without a value");
  return items;
}

// Adds items to the container on top of the stack.
void PickleMachine::extend(Kind kind, const std::vector<Value>& items) {
  if (stack_.size() <= floor() || document_.kind(stack_.back()) != kind) {
    fail(fmt::format("items are added to a value that is no {}", pickle_kind_name(kind)));
  }
  auto& container = document_.containers_[document_.nodes_[stack_.back()].bits];
  container.insert(container.end(), items.begin(), items.end());
}

// Picklers number the memo consecutively; a higher number would only cost memory.
void PickleMachine::memoize(std::uint64_t index) {
  if (stack_.size() <= floor()) fail("there is no value to memoize");
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
