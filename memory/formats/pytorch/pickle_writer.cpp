#include "memory/formats/pytorch/pickle_writer.h"

#include <limits>

#include "memory/formats/pytorch/pickle_opcodes.h"
#include "memory/formats/utf8.h"

namespace skyline {
namespace {

// Python's own batches. memory_viz spreads a batch over the arguments of one call, and browsers
// allow some ten thousands of them.
constexpr std::uint64_t kBatch = 1000;
constexpr std::size_t kMostMemos = 4096;

constexpr char code(PickleOpcode opcode) { return static_cast<char>(opcode); }

}  // namespace

PickleWriter::PickleWriter(Sink sink) : out_(std::move(sink)) {
  out_.append_byte(code(PickleOpcode::kProto));
  out_.append_byte(2);
}

// Before each value: closes a full batch of the list around it and opens the next one.
void PickleWriter::count_item() {
  if (open_.empty() || open_.back().dict) return;
  Open& list = open_.back();
  if (list.items > 0 && list.items % kBatch == 0) {
    out_.append_byte(code(PickleOpcode::kAppends));
    out_.append_byte(code(PickleOpcode::kMark));
  }
  ++list.items;
}

void PickleWriter::begin_list() {
  count_item();
  open_.push_back({.dict = kList});
  out_.append_byte(code(PickleOpcode::kEmptyList));
  out_.append_byte(code(PickleOpcode::kMark));
}

void PickleWriter::end_list() {
  open_.pop_back();
  out_.append_byte(code(PickleOpcode::kAppends));
}

void PickleWriter::begin_dict() {
  count_item();
  open_.push_back({.dict = kDict});
  out_.append_byte(code(PickleOpcode::kEmptyDict));
  out_.append_byte(code(PickleOpcode::kMark));
}

void PickleWriter::end_dict() {
  open_.pop_back();
  out_.append_byte(code(PickleOpcode::kSetItems));
}

void PickleWriter::little_endian(std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out_.append_byte(static_cast<char>(value >> 8 * i & 0xff));
}

void PickleWriter::integer(std::int64_t value) {
  count_item();
  const auto bits = static_cast<std::uint64_t>(value);
  if (bits <= 0xff) {
    out_.append_byte(code(PickleOpcode::kBinInt1));
    little_endian(bits, 1);
  } else if (bits <= 0xffff) {
    out_.append_byte(code(PickleOpcode::kBinInt2));
    little_endian(bits, 2);
  } else if (value >= std::numeric_limits<std::int32_t>::min() &&
             value <= std::numeric_limits<std::int32_t>::max()) {
    out_.append_byte(code(PickleOpcode::kBinInt));
    little_endian(bits, 4);
  } else {
    out_.append_byte(code(PickleOpcode::kLong1));
    out_.append_byte(8);
    little_endian(bits, 8);
  }
}

void PickleWriter::boolean(bool value) {
  count_item();
  out_.append_byte(code(value ? PickleOpcode::kNewTrue : PickleOpcode::kNewFalse));
}

void PickleWriter::text(std::string_view value) {
  count_item();
  std::string valid = valid_utf8(value);
  if (const auto known = memo_.find(valid); known != memo_.end()) {
    const bool near = known->second <= 0xff;
    out_.append_byte(code(near ? PickleOpcode::kBinGet : PickleOpcode::kLongBinGet));
    return little_endian(known->second, near ? 1 : 4);
  }
  out_.append_byte(code(PickleOpcode::kBinUnicode));
  little_endian(valid.size(), 4);
  out_.append(valid);
  if (memo_.size() >= kMostMemos) return;
  const auto index = static_cast<std::uint32_t>(memo_.size());
  out_.append_byte(code(index <= 0xff ? PickleOpcode::kBinPut : PickleOpcode::kLongBinPut));
  little_endian(index, index <= 0xff ? 1 : 4);
  memo_.emplace(std::move(valid), index);
}

void PickleWriter::finish() {
  out_.append_byte(code(PickleOpcode::kStop));
  out_.finish();
}

}  // namespace skyline
