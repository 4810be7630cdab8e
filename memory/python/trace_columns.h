#pragma once

#include <pybind11/pybind11.h>

#include "memory/plan.h"
#include "memory/trace.h"

namespace skyline {

// Columns go to Python and come from it as contiguous 64-bit integers: arrays in, bytes out, which
// NumPy reads in place. So the module works with every version of NumPy.

// Makes a trace of arrays of equal length, one row a block. `offset` has those to be kept (-1:
// free), or no rows; `gaps` has block, lower and upper of one gap after the other; `alignment` has
// each block's, or no rows. Throws TraceError, naming the row, for an empty lifetime and for a
// number that is too small.
Trace trace_from(const pybind11::buffer& lower, const pybind11::buffer& upper,
                 const pybind11::buffer& size, const pybind11::buffer& offset,
                 const pybind11::buffer& gaps, const pybind11::buffer& alignment);

// Returns the columns lower, upper and size of a trace.
pybind11::dict columns_of(const Trace& trace);

// Returns the column of offsets, and the plan's figures by name.
pybind11::dict answer_of(const Plan& plan);

}  // namespace skyline
