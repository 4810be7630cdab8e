// A buffered sink that writers write to, and texts that are read whole.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>

namespace skyline {

// Takes a writer's bytes: a file, a string, another program. May throw.
using Sink = std::function<void(std::string_view bytes)>;

// Writes to a stream that outlives the sink. Errors are left in the stream's state.
Sink stream_sink(std::ostream& out);

// Gathers small pieces for a sink, so that a file of any length is written in constant memory.
// finish() hands over the rest; without it the last piece is lost, as it should be after an error.
class BufferedSink {
 public:
  explicit BufferedSink(Sink sink) : sink_(std::move(sink)) {}

  template <class... Arguments>
  void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    append(fmt::format(format, std::forward<Arguments>(arguments)...));
  }
  void append(std::string_view bytes) {
    buffer_ += bytes;
    if (buffer_.size() >= kPieceBytes) finish();
  }
  void finish() {
    if (!buffer_.empty()) sink_(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr std::size_t kPieceBytes = std::size_t{1} << 18;
  Sink sink_;
  std::string buffer_;
};

// The text as a JSON string with its quotes. Each byte that is not valid UTF-8 becomes U+FFFD:
// JSON readers refuse names that are not UTF-8.
std::string json_string(std::string_view text);

// Reads a stream to its end, or until the text has more than `most` bytes, and appends it to
// `head`. The caller looks at in.bad().
std::string text_to_end(std::istream& in, std::string head, std::size_t most);

// Reads a stream to its end. `source` names it in errors. Throws GraphError if it cannot be read,
// a folder for example.
std::string whole_text(std::istream& in, std::string_view source);

}  // namespace skyline
