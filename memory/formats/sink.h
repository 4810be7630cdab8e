#pragma once

#include <functional>
#include <iterator>
#include <streambuf>
#include <string_view>
#include <utility>

#include "memory/format_to.h"

namespace skyline {

// Where a writer's bytes go: a file, a string, another program. Throws what the target throws.
using Sink = std::function<void(std::string_view bytes)>;

// Gathers small pieces for a sink, so that a file of any length is written in constant memory.
// finish() hands over what is left; without it the last piece is lost, as after an error it should.
class BufferedSink {
 public:
  explicit BufferedSink(Sink sink) : sink_(std::move(sink)) {}

  template <class... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Arguments>(arguments)...);
    if (buffer_.size() >= kPieceBytes) finish();
  }
  void append(std::string_view bytes) {
    buffer_.append(bytes.data(), bytes.data() + bytes.size());
    if (buffer_.size() >= kPieceBytes) finish();
  }
  void append_byte(char byte) { append({&byte, 1}); }

  void finish() {
    if (buffer_.size() > 0) sink_({buffer_.data(), buffer_.size()});
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  Sink sink_;
  fmt::memory_buffer buffer_;
};

// A stream that writes to a sink, for writers that want a std::ostream. Flush it at the end.
class SinkBuffer final : public std::streambuf {
 public:
  explicit SinkBuffer(Sink sink) : out_(std::move(sink)) {}

 protected:
  int_type overflow(int_type c) override {
    if (!traits_type::eq_int_type(c, traits_type::eof())) {
      out_.append_byte(traits_type::to_char_type(c));
    }
    return traits_type::not_eof(c);
  }
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    out_.append({text, static_cast<std::size_t>(count)});
    return count;
  }
  int sync() override {
    out_.finish();
    return 0;
  }

 private:
  BufferedSink out_;
};

}  // namespace skyline
