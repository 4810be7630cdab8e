#pragma once

#include <cstdint>
#include <string>

namespace skyline {

// The opcodes of pickle protocols 2 to 5 that stand for plain data (Python's Lib/pickletools.py).
enum class PickleOpcode : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kProto = 0x80,
  kFrame = 0x95,
  kNone = 'N',
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kBinFloat = 'G',
  kShortBinUnicode = 0x8c,
  kBinUnicode = 'X',
  kBinUnicode8 = 0x8d,
  kShortBinString = 'U',
  kBinString = 'T',
  kShortBinBytes = 'C',
  kBinBytes = 'B',
  kBinBytes8 = 0x8e,
  kEmptyList = ']',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kList = 'l',
  kTuple = 't',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kDict = 'd',
  kAppend = 'a',
  kAppends = 'e',
  kSetItem = 's',
  kSetItems = 'u',
  kMemoize = 0x94,
  kBinPut = 'q',
  kLongBinPut = 'r',
  kBinGet = 'h',
  kLongBinGet = 'j',
};

// The name of any other opcode with its number, for errors: "GLOBAL (0x63)"; "0xff" for a byte that
// is no opcode.
std::string pickle_opcode_name(std::uint8_t opcode);

}  // namespace skyline
