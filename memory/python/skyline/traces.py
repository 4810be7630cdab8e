"""Blocks, and what planners and allocators make of them.

Blocks are given as a pandas frame or a mapping with the columns lower, upper and size, as a
structured array, or as an array of three columns. A block is alive in the ticks lower, ...,
upper - 1. Optional columns, as in MiniMalloc's CSV:
  alignment  what the block's offset must be a multiple of; its size stays as it is
  offset     where the block must be; -1 or NaN: free
  gaps       texts "LOWER-UPPER LOWER-UPPER": ticks in which the block does not need its bytes
Others are ignored.
"""

import numbers
import os
import re
from dataclasses import dataclass
from typing import Optional

import numpy as np

from . import _memory

REQUIRED = ("lower", "upper", "size")
OPTIONAL = ("alignment", "offset", "gaps")
MOST_THREADS = 1024  # more only wait for each other
NO_ROWS = np.empty(0, np.int64)
GAP = re.compile(r"(\d+)-(\d+)(@\d+:\d+)?")


@dataclass(frozen=True)
class Plan:
    """Where each block lies. Bytes are as planned, rounded up if an alignment was given."""

    offsets: np.ndarray  # one for each block, in the order of the rows
    peak: int
    lower_bound: int  # the most in use at one tick: no plan has a lower peak
    proved_bound: int  # no plan has a lower peak: at least lower_bound
    proved_optimal: bool  # the peak is the proved bound
    alignment: Optional[int]  # given for all blocks; None: each has its own or none
    capacity: Optional[int]  # None: none was given
    planner: str
    seconds: float  # spent planning, without the validator that every plan passes
    out_of_time: bool  # the time limit ended the first pass: program-order's plan

    @property
    def gap(self) -> float:
        """The peak's distance from the lower bound, as a part of the bound."""
        return (self.peak - self.lower_bound) / self.lower_bound if self.lower_bound else 0.0

    @property
    def feasible(self) -> Optional[bool]:
        """Whether a plan lies within the capacity; None if that is unknown, or none was given."""
        if self.capacity is None or self.proved_bound <= self.capacity < self.peak:
            return None
        return self.peak <= self.capacity


@dataclass(frozen=True)
class Check:
    """The validator's verdict on a plan. It is true if the plan is valid."""

    valid: bool
    reason: str  # empty if valid; else names the blocks, ticks and addresses
    peak: int
    lower_bound: int

    def __bool__(self) -> bool:
        return self.valid


@dataclass(frozen=True)
class Replay:
    """What one allocator did with the blocks. Bytes are peaks."""

    allocator: str
    reserved: int  # taken from the device
    allocated: int  # handed out, with rounding
    requested: int  # as the program asked
    device_allocations: int
    device_frees: int
    refused: int  # requests, where a capacity is given


def plan(blocks, planner="portfolio", *, alignment=None, capacity=None, time_limit=None, seed=0,
         threads=None) -> Plan:
    """Returns an offset for each block, validated.

    planner     one of skyline.planners
    alignment   bytes; all offsets and sizes become multiples of it (unset: each block begins at a
                multiple of its own in the column, and no size is rounded)
    capacity    bytes; the search stops at the first plan within it, or once none can be; where
                neither comes, the plan is no worse than without a capacity
    time_limit  seconds (unset: a fixed amount of work, so that every run gives the same plan)
    threads     of the search (unset: one for each core that the process may use); without a time
                limit the plan is the same
    """
    trace = read_blocks(blocks, rounded=alignment is not None)
    capacity = whole(capacity, "capacity")
    options = _memory.PlanOptions(
        whole(alignment, "alignment", 1, least=1), capacity, time_limit_of(time_limit),
        whole(seed, "seed"),
        whole(threads, "threads", len(os.sched_getaffinity(0)), least=1, most=MOST_THREADS))
    answer = _memory.plan(trace, one_of(_memory.planners, planner, "planner"), options)
    answer["offsets"] = column_from(answer["offsets"])
    return Plan(**answer, alignment=alignment, capacity=capacity)


def check(blocks, offsets, *, alignment=None) -> Check:
    """Validates offsets, or those of a Plan, without any code of a planner."""
    if isinstance(offsets, Plan):
        alignment = alignment or offsets.alignment
        offsets = offsets.offsets
    trace = read_blocks(blocks, rounded=alignment is not None)
    offsets = whole_column(offsets, "offsets")
    negative = np.flatnonzero(offsets < 0)
    if negative.size:
        raise ValueError(f"row {negative[0]}, field offset: got {offsets[negative[0]]}, "
                         "expected no negative number")
    return Check(**_memory.check(trace, offsets, whole(alignment, "alignment", 1, least=1)))


def replay(blocks, allocators=None, *, capacity=None) -> list:
    """Sends the blocks' requests through allocators and returns a Replay for each.

    allocators  names from skyline.allocators (unset: all)
    capacity    bytes of each allocator's device (unset: no limit)

    At each tick the frees come first. pandas.DataFrame(replay(blocks)) is a table of them.
    """
    trace = read_blocks(blocks)
    names = [allocators] if isinstance(allocators, str) else allocators or _memory.allocators
    return [Replay(**_memory.replay(trace, one_of(_memory.allocators, name, "allocator"),
                                    whole(capacity, "capacity"))) for name in names]


def read_blocks(blocks, rounded=False):
    """Returns the trace as the extension module takes it, without alignments if it is rounded."""
    named = by_name(blocks)
    missing = [name for name in REQUIRED if name not in named]
    if missing:
        raise ValueError(f"blocks have no column {missing[0]}, expected lower, upper and size")
    columns = {name: whole_column(named[name], name) for name in REQUIRED}
    if "offset" in named:
        columns["offset"] = whole_column(named["offset"], "offset", missing=-1)
    if "alignment" in named and not rounded:
        columns["alignment"] = whole_column(named["alignment"], "alignment", missing=1)
    rows = {name: len(column) for name, column in columns.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(f"columns differ in length: {rows}")
    columns.setdefault("offset", NO_ROWS)
    columns.setdefault("alignment", NO_ROWS)
    gaps = read_gaps(named["gaps"]) if "gaps" in named else NO_ROWS
    return _memory.Trace(**columns, gaps=gaps)


def column_from(text):
    """Returns a column that the extension module made."""
    return np.frombuffer(text, np.int64)


def by_name(blocks):
    """Returns the columns of any kind of blocks by name; of a frame, only those that count."""
    if hasattr(blocks, "columns"):
        names = blocks.columns.tolist()
        return {name: blocks[name].values for name in REQUIRED + OPTIONAL if name in names}
    if hasattr(blocks, "keys"):
        return {name: blocks[name] for name in blocks.keys()}
    array = np.asarray(blocks)
    if array.dtype.names:
        return {name: array[name] for name in array.dtype.names}
    if array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"blocks have the shape {array.shape}, expected rows of lower, upper, size")
    return dict(zip(REQUIRED, array.T))


def whole_column(values, name, missing=None):
    """Returns a column as 64-bit integers; `missing` stands for NaN."""
    array = np.asarray(values)
    if array.ndim != 1:
        raise ValueError(f"{name} has {array.ndim} dimensions, expected one")
    if array.dtype.kind in "iu" and (array.dtype != np.uint64 or (array < 2**63).all()):
        return np.ascontiguousarray(array, np.int64)
    result = np.empty(len(array), np.int64)
    for row, value in enumerate(array.tolist()):
        if missing is not None and value != value:
            value = missing
        if isinstance(value, bool) or not isinstance(value, (int, float)) or value != value or (
                value in (float("inf"), -float("inf"))) or value != int(value) or (
                not -2**63 <= value < 2**63):
            raise ValueError(f"row {row}, field {name}: got {value!r}, expected a whole number "
                             f"from 0 to {2**63 - 1}")
        result[row] = int(value)
    return result


def read_gaps(texts):
    """Returns rows of block, lower and upper."""
    rows = []
    for row, text in enumerate(texts):
        for part in str(text).split() if isinstance(text, str) else ():
            match = GAP.fullmatch(part)
            if not match:
                raise ValueError(f"row {row}, field gaps: got {part!r}, expected LOWER-UPPER")
            if not match[3]:  # bytes that stay in use: no gap, which is always sound
                rows.append((row, int(match[1]), int(match[2])))
    return np.array(rows, np.int64).reshape(-1, 3)


def whole(value, name, default=None, least=0, most=2**63 - 1):
    """Returns a whole number of at least `least`; the default for None."""
    if value is None:
        return default
    if not is_number(value) or not least <= value <= most or value != int(value):
        above = f" and at most {most}" if is_number(value) and value > most else ""
        raise ValueError(
            f"{name}: got {value!r}, expected a whole number of at least {least}{above}")
    return int(value)


def time_limit_of(value):
    """Returns a time limit; None for none."""
    if value is not None and not (is_number(value) and value >= 0):
        raise ValueError(f"time_limit: got {value!r}, expected seconds from 0")
    return value


def is_number(value):
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def one_of(names, name, kind):
    """Returns the name if it is one of the names."""
    if name not in names:
        raise ValueError(f'unknown {kind} "{name}", expected one of {", ".join(names)}')
    return name
