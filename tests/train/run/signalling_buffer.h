#pragma once

#include <csignal>
#include <sstream>
#include <string>
#include <utility>

namespace skyline::tests {

// Sends `signal` to this process when a message contains `text`, as a user might at that moment.
class SignallingBuffer : public std::stringbuf {
 public:
  explicit SignallingBuffer(std::string text, int signal = SIGTERM)
      : text_(std::move(text)), signal_(signal) {}

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
    std::raise(signal_);
  }
  std::string text_;
  int signal_;
};

}  // namespace skyline::tests
