#include "data/errors.h"

#include <utility>

namespace skyline {

DataError::DataError(std::string source, const std::string& what)
    : std::runtime_error("[" + source + "] " + what), source_(std::move(source)) {}

DataError::DataError(std::string source, const std::string& what, const std::string& got,
                     const std::string& expected)
    : DataError(std::move(source), what + ", got " + got + ", expected " + expected) {}

}  // namespace skyline
