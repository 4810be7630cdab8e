#pragma once

#include <cstdint>
#include <string>

#include "framework/shape.h"

namespace skyline {

// Checks that ops share. `where` is the op's name, `what` the operand's.

// Throws ShapeError unless `spec` is an f32 tensor of that rank without empty extents.
void require_float(const std::string& where, const std::string& what, const TensorSpec& spec,
                   int rank);

// Throws ShapeError unless `spec` is exactly `expected`.
void require_spec(const std::string& where, const std::string& what, const TensorSpec& spec,
                  const TensorSpec& expected);

// Throws ShapeError unless got is expected: "[conv2d] input channels, got 3, expected 16".
void require_extent(const std::string& where, const std::string& what, std::int64_t got,
                    std::int64_t expected);

// Throws ShapeError unless there are that many inputs.
void require_inputs(const std::string& where, std::size_t got, std::size_t expected);

}  // namespace skyline
