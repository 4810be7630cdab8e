#pragma once

#include <csignal>
#include <functional>
#include <sstream>
#include <string>
#include <utility>

namespace skyline::tests {

// Acts once, as a user might at that moment, when a message contains `text`.
class ActingBuffer : public std::stringbuf {
 public:
  ActingBuffer(std::string text, std::function<void()> act)
      : text_(std::move(text)), act_(std::move(act)) {}

 protected:
  int sync() override {
    look();
    return std::stringbuf::sync();
  }
  std::streamsize xsputn(const char* characters, std::streamsize count) override {
    const auto written = std::stringbuf::xsputn(characters, count);
    look();
    return written;
  }

 private:
  void look() {
    if (text_.empty() || str().find(text_) == std::string::npos) return;
    text_.clear();
    act_();
  }
  std::string text_;
  std::function<void()> act_;
};

// Sends `signal` to this process.
class SignallingBuffer : public ActingBuffer {
 public:
  explicit SignallingBuffer(std::string text, int signal = SIGTERM)
      : ActingBuffer(std::move(text), [signal] { std::raise(signal); }) {}
};

}  // namespace skyline::tests
