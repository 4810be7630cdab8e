#pragma once

#include <ios>
#include <sstream>
#include <stdexcept>

namespace skyline {

// Serves its text and then fails, like a file on a removed disk.
class FailingBuffer : public std::stringbuf {
 public:
  using std::stringbuf::stringbuf;

 protected:
  int_type underflow() override { throw std::runtime_error("the disk is gone"); }
  std::streamsize xsgetn(char* to, std::streamsize bytes) override {
    if (in_avail() < bytes) throw std::runtime_error("the disk is gone");
    return std::stringbuf::xsgetn(to, bytes);
  }
};

}  // namespace skyline
