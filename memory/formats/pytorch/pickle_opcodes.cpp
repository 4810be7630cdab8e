#include "memory/formats/pytorch/pickle_opcodes.h"

#include <fmt/format.h>

#include <string_view>

namespace skyline {
namespace {

struct Name {
  std::uint8_t opcode;
  std::string_view name;
};

// Those that import, call, build objects or ask the reader for them, and those of protocol 0.
constexpr Name kRefused[] = {
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

}  // namespace

std::string pickle_opcode_name(std::uint8_t opcode) {
  for (const Name& known : kRefused) {
    if (known.opcode == opcode) return fmt::format("{} ({:#04x})", known.name, opcode);
  }
  return fmt::format("{:#04x}", opcode);
}

}  // namespace skyline
