#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "memory/formats/sink.h"

namespace skyline {

// Writes plain data as a pickle of protocol 2, piece by piece, so that a document of any length is
// written in constant memory. Values nest as they are called:
//
//   PickleWriter pickle(sink);
//   pickle.begin_dict();
//   pickle.text("sizes");
//   pickle.begin_list();
//   pickle.integer(4096);
//   pickle.end_list();
//   pickle.end_dict();
//   pickle.finish();
//
// Texts are made valid UTF-8; those that come again are written once (the first few thousand).
class PickleWriter {
 public:
  explicit PickleWriter(Sink sink);

  void begin_list();
  void end_list();
  void begin_dict();  // then key, value, key …
  void end_dict();
  void integer(std::int64_t value);
  void boolean(bool value);
  void text(std::string_view value);
  void finish();  // after the one outermost value

 private:
  void count_item();
  void little_endian(std::uint64_t value, int bytes);

  static constexpr bool kDict = true, kList = false;
  struct Open {
    bool dict = false;
    std::uint64_t items = 0;
  };

  BufferedSink out_;
  std::vector<Open> open_;
  std::unordered_map<std::string, std::uint32_t> memo_;
};

}  // namespace skyline
