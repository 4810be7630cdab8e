"""Step graphs: the best sequence of their ops, and steps within fewer bytes."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import List, Optional

import numpy as np

from . import _memory
from .traces import column_from, is_number, one_of, time_limit_of, whole


@dataclass
class StepGraph:
    """The ops of one training step and the values that they write and read.

    tensors        dicts, or a frame, of bytes and, optionally, keep: it lives to the end of the step
    ops            dicts, or a frame, in the program's sequence:
                     name, inputs, outputs  the last two are lists of tensors, by number
                     workspace              bytes that the op needs while it runs
                     after                  ops, by number, that must run before it
                     in_place               pairs of positions in inputs and outputs: that output
                                            may overwrite that input
                     layer, phase           for people; phase "backward" begins with budget()'s
    resident_bytes  parameters and what else persists across steps

    `skyline order` and `skyline dry-run --write-graph` use the same JSON.
    """

    tensors: List[dict]
    ops: List[dict]
    resident_bytes: int = 0
    name: str = ""

    def json(self) -> str:
        """Returns the graph in the format skyline-graph, version 1."""
        document = {
            "format": "skyline-graph", "version": 1, "name": self.name,
            "resident_bytes": self.resident_bytes, "tensors": records(self.tensors),
            "ops": records(self.ops),
        }
        return json.dumps(document, default=plain)

    def save(self, path) -> None:
        Path(path).write_text(self.json() + "\n")

    @staticmethod
    def load(path) -> "StepGraph":
        document = json.loads(Path(path).read_text())
        return StepGraph(document["tensors"], document["ops"], document["resident_bytes"],
                         document.get("name", ""))


@dataclass(frozen=True)
class Order:
    """A sequence of a graph's ops and what is known about it. Bytes are without resident ones."""

    order: np.ndarray  # order[i] runs as the i-th
    peak: int
    lower_bound: int  # no order has a lower peak
    proved_optimal: bool  # the peak is the lower bound
    proved_by_flow: bool  # by a certificate that `skyline check-order` adds up, without a search
    algorithm: str
    seconds: float
    resident_bytes: int
    program_peak: int  # of the ops as written
    blocks: dict = field(repr=False)  # what the order requests: for plan(), check() and replay()
    program_blocks: dict = field(repr=False)  # the same for the ops as written
    file: str = field(repr=False)  # the text of an order file, with the certificate

    @property
    def saving(self) -> float:
        """The part of the program's peak that the order saves."""
        return 1 - self.peak / self.program_peak if self.program_peak else 0.0


@dataclass(frozen=True)
class BudgetPoint:
    """A step that recomputes some values. Bytes are without resident ones."""

    peak: int  # in the program's sequence
    extra_seconds: float  # more than of the fastest step without a budget
    bound_seconds: float  # no step within the same peak takes fewer
    # The step's ops by number, in sequence; -1 - t where tensor t is recomputed. A region in rounds
    # stands as its last op.
    sequence: List[int] = field(repr=False)
    rounds: List[int]  # by region: how many; 0: its ops run whole
    recomputed: List[int] = field(repr=False)  # the ops that run once more, as often as they do


@dataclass(frozen=True)
class Budget:
    """The fastest step that was found within given bytes."""

    bytes: int
    point: BudgetPoint
    curve: List[BudgetPoint] = field(repr=False)  # from all kept to the fewest bytes

    @property
    def proved_optimal(self) -> bool:
        """True if no step within the point's peak is faster."""
        return self.point.extra_seconds <= self.point.bound_seconds * (1 + 1e-9)


def order(graph, algorithm="optimal", *, in_place=True, alignment=1, time_limit=None) -> Order:
    """Returns the sequence of the graph's ops with the least peak, and the proof of it.

    algorithm   one of skyline.algorithms
    in_place    ops overwrite inputs when they may
    time_limit  seconds (unset: a fixed amount of work, so that every run gives the same order)
    """
    options = _memory.OrderOptions(in_place, whole(alignment, "alignment", 1, least=1),
                                   time_limit_of(time_limit))
    answer = _memory.order(graph.json(), one_of(_memory.algorithms, algorithm, "algorithm"), options)
    answer["order"] = np.array(answer["order"], np.int64)
    for blocks in ("blocks", "program_blocks"):
        answer[blocks] = {name: column_from(text) for name, text in answer[blocks].items()}
    return Order(**answer)


def budget(graph, bytes, seconds=None, *, backward=None, recomputes=None, regions=()) -> Budget:
    """Returns which values backward recomputes and which regions run in rounds, so that the step
    fits into `bytes` without its resident ones, and how much longer it takes.

    seconds     what each op takes (unset: the column `seconds` of the ops)
    backward    the first op of backward (unset: the first one of phase "backward")
    recomputes  which tensors may be recomputed: rows of tensor, inputs (tensors of forward), bytes of
                workspace, seconds, and its share of them if one run gives several tensors (unset:
                whatever an op of forward writes, by that op; ops that draw random numbers must then
                draw the same ones)
    regions     ops that one op could replace, which computes their outputs in rounds, so that values
                that only they read never exist whole: dicts of
                  ops      by number, of forward alone or of backward; no path between two of them
                           leads through another op
                  rounds   dict: for each possible number of rounds, bytes of workspace and seconds
                  inputs   what the op in rounds reads, from outside (unset: what the ops read);
                           fewer, if it recomputes the rest, which another region makes in rounds
                  in_place pairs of an input and a tensor that leaves: it may overwrite that input
                Regions that share an op are alternatives. Each choice is a step of its own, at most
                64 of them; the least of their bounds counts.
    """
    curve = budget_curve(graph, seconds, backward, recomputes, regions)
    bytes = whole(bytes, "bytes")
    for point in curve:
        if point.peak <= bytes:
            return Budget(bytes, point, curve)
    raise ValueError(f"bytes: got {bytes}, but the least that was found is {curve[-1].peak}")


def budget_curve(graph, seconds=None, backward=None, recomputes=None,
                 regions=()) -> List[BudgetPoint]:
    """Returns the points of budget(), from all kept to the fewest bytes."""
    ops = records(graph.ops)
    if seconds is None:
        seconds = [op.get("seconds") for op in ops]
    for row, value in enumerate(seconds):
        if not is_number(value) or not 0 <= value < float("inf"):
            raise ValueError(f"op {row}, seconds: got {value!r}, expected a number from 0")
    if backward is None:
        backward = next((i for i, op in enumerate(ops) if op.get("phase") == "backward"), None)
    if backward is None:
        raise ValueError("no op has the phase \"backward\": give its number as backward=")
    points = _memory.budget(graph.json(), [float(value) for value in seconds],
                            whole(backward, "backward"), recomputes,
                            [region_row(ops, region) for region in regions])
    writer = {tensor: i for i, op in enumerate(ops) for tensor in op["outputs"]}
    return [BudgetPoint(peak, extra, bound, sequence, rounds,
                        [writer[-1 - i] for i in sequence if i < 0])
            for peak, extra, bound, sequence, rounds in points]


def region_row(ops, region):
    """Returns a region of budget() as _memory takes it."""
    members = [whole(op, "regions, ops") for op in region["ops"]]
    if any(op >= len(ops) for op in members):
        raise ValueError(f"regions, ops: got {members}, but the graph has {len(ops)}")
    inputs = region.get("inputs")
    if inputs is None:
        inside = {tensor for op in members for tensor in ops[op]["outputs"]}
        inputs = sorted({tensor for op in members for tensor in ops[op]["inputs"]} - inside)
    rounds = [(whole(count, "regions, rounds", least=2), whole(workspace, "regions, workspace"),
               float(seconds)) for count, (workspace, seconds) in sorted(region["rounds"].items())]
    return members, inputs, [tuple(pair) for pair in region.get("in_place", ())], rounds


def records(rows):
    """Returns the rows of a frame, or of a list, as dicts."""
    if hasattr(rows, "to_dict"):
        rows = rows.to_dict("records")
        return [{key: value for key, value in row.items() if not is_nan(value)} for row in rows]
    return rows


def is_nan(value):
    return isinstance(value, float) and value != value


def plain(value):
    """Returns what JSON can hold for NumPy's numbers and arrays."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"got {type(value).__name__}, expected numbers, texts and lists")
