"""What a step saves for backward: a trace on fake tensors that holds none of it, and its graph.

A value's life is then that which the program itself gives it. The planner decides on the rest.
"""

import functools
import weakref
from dataclasses import dataclass, field
from typing import Any, List, NamedTuple

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._pytree import tree_map_only

from .graphs import StepGraph
from .traced_step import (
    FakeStep, LayerNames, Recorder, arguments_of, draws_numbers, storage_of, tensors_in,
    written_tensors)

MOST_WRITES = 64  # in place, in a row, that a recompute repeats
SMALL = 16  # outputs that are so many times smaller than another of their op are kept


class Form(NamedTuple):
    """How a tensor shows its storage."""

    dtype: torch.dtype
    shape: tuple
    stride: tuple
    offset: int
    device: torch.device

    @staticmethod
    def of(tensor):
        return Form(tensor.dtype, tensor.shape, tensor.stride(), tensor.storage_offset(),
                    tensor.device)

    def show(self, storage):
        return torch.empty(0, dtype=self.dtype, device=self.device).set_(
            storage, self.offset, self.shape, self.stride)


@dataclass
class Call:
    """One op that the step ran."""

    func: Any
    group: int
    place: str  # for people
    arguments: tuple  # a Form in the place of each tensor
    returned: Any = None  # likewise
    shapes: tuple = ()  # of the tensors that it returned
    op: int = -1  # of the recorder's; -1: it only showed values
    made: list = field(default_factory=list)  # place among the results and value, of new storages
    wrote: dict = field(default_factory=dict)  # value that it wrote in place to the new value
    repeatable: bool = False
    reads: list = field(default_factory=list)  # the value of each tensor that it got
    residents: dict = field(default_factory=dict)  # how often each one that it read was written


@dataclass
class Saved:
    """A tensor that was packed for backward."""

    value: Any  # None: it belongs to no op of the step
    unpacks: list = field(default_factory=list)  # how many ops had run, and the group


@dataclass
class Group:
    """An op of forward, or all ops of one node of autograd: it holds what it unpacks to its end."""

    ops: List[int] = field(default_factory=list)
    reads: dict = field(default_factory=dict)  # values that it unpacks, as an ordered set


class Way(NamedTuple):
    """How a value is recomputed."""

    calls: list  # the first makes it, others write it in place
    inputs: list  # values
    workspace: int  # bytes of what the calls make beside it


class SavingRecorder(Recorder):
    """Also notes every op, and what autograd packs and unpacks. Packed values are not held."""

    def __init__(self, step):
        self.calls, self.saved, self.groups, self.begins = [], [], [], []
        self.last_op, self.reads_after = {}, []  # by value; op and value of a copy's end
        self._node = None
        self._copies, self._writes = {}, {}  # by storage
        self.quiet = False
        self.given = ()
        super().__init__(step, overwrite=False)
        self.step = step
        self.given = {value for op in self.ops for value in op["outputs"]}  # the inputs

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if self.quiet or not makes_tensors(func):
            return func(*args, **kwargs)
        op = len(self.ops)
        call = Call(func, self._enter(), self.place(),
                    tree_map_only(torch.Tensor, Form.of, (args, kwargs)))
        self._see_arguments(call, args, kwargs)
        storages = list(map(storage_of, tensors_in((args, kwargs))))
        old = list(map(self._value_of.get, storages))
        call.reads = [None if value in self.given else value for value in old]
        result = super().__torch_dispatch__(func, types, args, kwargs)
        results = tensors_in(result)
        call.returned = tree_map_only(torch.Tensor, Form.of, result)
        call.shapes = tuple(tensor.shape for tensor in results)
        if len(self.ops) > op:
            call.op = op
            outputs = set(self.ops[op]["outputs"])
            for storage, value in zip(storages, old):
                if value is not None and self._value_of[storage] != value:
                    call.wrote[value] = self._value_of[storage]
            outputs -= set(call.wrote.values())
            for place, tensor in enumerate(results):
                if self._value_of[storage_of(tensor)] in outputs:
                    call.made.append((place, self._value_of[storage_of(tensor)]))
                    outputs.remove(call.made[-1][1])
            call.group = len(self.groups) - 1
        self.calls.append(call)
        return result

    def hooks(self):
        return torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    def pack(self, tensor):
        value = self._value_of.get(storage_of(tensor))
        self.saved.append(Saved(value if is_plain(tensor) and value not in self.given else None))
        kept = tensor if self.saved[-1].value is None else None
        return (len(self.saved) - 1, kept, Form.of(tensor), tensor.untyped_storage().nbytes(),
                storage_of(tensor) in self._workspaces)

    def unpack(self, packed):
        number, kept, form, bytes, is_workspace = packed
        saved, group = self.saved[number], self._enter()
        saved.unpacks.append((len(self.calls), group))
        if kept is not None:
            return kept
        self.groups[group].reads[saved.value] = None
        self.quiet = True
        base = torch.empty(-(-bytes // form.dtype.itemsize), dtype=form.dtype, device=form.device)
        copy = base.as_strided(form.shape, form.stride, form.offset)
        self.quiet = False
        self._copies[storage_of(copy)] = saved.value
        self._value_of[storage_of(copy)], self._readers[storage_of(copy)] = saved.value, []
        if is_workspace:
            self._workspaces[storage_of(copy)] = None
        weakref.finalize(copy.untyped_storage(), self._freed, storage_of(copy), 0)
        return copy

    def _see_arguments(self, call, args, kwargs):
        """Notes whether the op could run again, with the same result."""
        given = arguments_of(call.func, args, kwargs)
        read = {name: tensors_in(value) for name, value in given.items()
                if name not in statistics_of(call.func, given)}
        written = {storage_of(tensor) for tensor in written_tensors(call.func, given)
                   if any(tensor is other for tensors in read.values() for other in tensors)}
        tensors = [tensor for tensors in read.values() for tensor in tensors]
        call.residents = {storage_of(tensor): self._writes.get(storage_of(tensor), 0)
                          for tensor in tensors if self._value_of.get(storage_of(tensor)) is None}
        call.repeatable = (call.func.namespace == "aten" and not draws_numbers(call.func, given) and
                           len(written) <= 1 and not written & call.residents.keys() and
                           all(map(is_plain, tensors)))

    def _enter(self, is_op=False):
        node = torch._C._current_autograd_node()
        if not self.groups or node is not self._node or is_op and node is None:
            self.groups.append(Group())
        self._node = node
        return len(self.groups) - 1

    def _add_op(self, *op):
        self.groups[self._enter(is_op=True)].ops.append(len(self.ops))
        super()._add_op(*op)

    def _write(self, storage, op, *lists):
        value = self._value_of[storage]
        self._writes[storage] = self._writes.get(storage, 0) + 1
        if value is not self.RESIDENT:
            self.last_op[value] = op
        super()._write(storage, op, *lists)

    def _freed(self, key, bytes):
        value = self._value_of.get(key)
        if self._copies.pop(key, None) is not None:
            self.reads_after.append((len(self.ops) - 1, value))
        elif value is not None:
            self.last_op[value] = len(self.ops) - 1
        super()._freed(key, bytes)


class SavingTrace:
    """A step as it ran on fake tensors: its calls, and the graph that a planner may change.

    graph       one op for each op of forward and each node of backward
    backward    its first op of backward
    given       values that are inputs
    residents   bytes of each tensor that was there before the step
    gradients   bytes of all gradients
    recomputes  a Way, by value
    """

    def __init__(self, recorder):
        if not any(op["phase"] == "backward" for op in recorder.ops):
            raise ValueError("the step has no backward: nothing is saved for it")
        self.calls, self.saved, self.groups = recorder.calls, recorder.saved, recorder.groups
        self.residents = recorder.residents
        self.gradients = sum(gradient.nbytes for gradient in recorder.step.gradients())
        self.begins, self.given = recorder.begins, recorder.given
        self.ops, self.tensors = recorder.ops, recorder.tensors
        self.first_backward = next(i for i, op in enumerate(self.ops) if op["phase"] == "backward")
        self._last_op, self._writes = dict(recorder.last_op), recorder._writes
        self._keep_what_is_not_unpacked()
        self.op_of_group, self._group_of_op = {}, {}
        self.graph = self._graph(recorder)
        self.backward = next(i for i, op in enumerate(self.graph.ops) if op["phase"] == "backward")
        self.recomputes = self._recomputes()

    @staticmethod
    def of(module, inputs, loss, *, accumulated=(), optimizer=None):
        """Traces a step, as step_graph_of() does. What the module returns is alive to the end of
        backward, as where the training loop has a name for it."""
        outputs = []

        def loss_of(returned):
            outputs.append(returned)
            return loss(returned)

        with FakeTensorMode(allow_non_fake_inputs=True) as fakes:
            step = FakeStep(module, inputs, loss_of, optimizer, fakes, accumulated)
            if optimizer:
                with Recorder(step, overwrite=False) as first:  # makes the optimizer's states
                    step.run(first)
                outputs.clear()
            recorder = SavingRecorder(step)
            begin = module.register_forward_pre_hook(
                lambda *_: recorder.begins.append(len(recorder.calls)), prepend=True)
            try:
                with recorder, LayerNames(module, recorder), recorder.hooks():
                    step.run(recorder)
            finally:
                begin.remove()
        return SavingTrace(recorder)

    def _keep_what_is_not_unpacked(self):
        for saved in self.saved:
            if saved.value is not None and not saved.unpacks:
                self.tensors[saved.value]["keep"] = True
        for value, tensor in enumerate(self.tensors):
            if self._last_op.setdefault(value, len(self.ops)) == len(self.ops):
                tensor["keep"] = True

    def _graph(self, recorder):
        ops = []
        for number, group in enumerate(self.groups):
            if group.ops or group.reads:
                self.op_of_group[number] = len(ops)
                self._group_of_op.update((op, len(ops)) for op in group.ops)
                ops.append(self._merged(group, ops[-1]["phase"] if ops else "forward"))
        extra = [*self._last_op.items(), *((value, op) for op, value in recorder.reads_after)]
        written = {value: i for i, op in enumerate(ops) for value in op["outputs"]}
        for value, op in extra:
            reader = self._group_of_op.get(op)
            if reader is not None and reader > written.get(value, len(ops)):
                if value not in ops[reader]["inputs"]:
                    ops[reader]["inputs"].append(value)
        return StepGraph(self.tensors, ops, sum(recorder.residents))

    def _merged(self, group, phase):
        """Returns the op of a group; values that it makes and frees are its workspace."""
        ops = [self.ops[op] for op in group.ops]
        made = {value: op for op in group.ops for value in self.ops[op]["outputs"]}
        last = group.ops[-1] if ops else -1
        outputs = [value for value in made
                   if len(ops) == 1 or self._last_op[value] > last or "keep" in self.tensors[value]]
        inputs = list(dict.fromkeys([*group.reads, *(value for op in ops for value in op["inputs"]
                                                     if value not in made)]))
        most = max((sum(self.tensors[value]["bytes"] for value, at in made.items()
                        if at <= op <= self._last_op[value]) for op in group.ops), default=0)
        workspace = most - sum(self.tensors[value]["bytes"] for value in outputs)
        pairs = [[inputs.index(op["inputs"][i]), outputs.index(op["outputs"][o])]
                 for op in ops for i, o in op.get("in_place", ())
                 if op["inputs"][i] in inputs and op["outputs"][o] in outputs]
        shown = ops[-1] if ops else {"name": "saved", "layer": "", "phase": phase}
        return {"name": shown["name"], "layer": shown["layer"], "phase": shown["phase"],
                "inputs": inputs, "outputs": outputs, "workspace": max(0, workspace),
                "in_place": pairs}

    def _recomputes(self):
        """Returns the ways of all values that can be recomputed."""
        ways, result = {}, {}
        overwritten = {value for call in self.calls for value in call.wrote}
        for call in self.calls:
            if not 0 <= call.op < self.first_backward:
                continue
            op = self.ops[call.op]
            changed = any(self._writes.get(key, 0) != n for key, n in call.residents.items())
            reads = [value for value in op["inputs"] if value not in call.wrote]
            if not call.repeatable or changed or any(value in overwritten for value in reads):
                continue
            sizes = {value: self.tensors[value]["bytes"] for _, value in call.made}
            for value, size in sizes.items():
                if size and size * SMALL > max(sizes.values()):
                    ways[value] = Way([call], reads, sum(sizes.values()) - size)
            for old, new in call.wrote.items():
                if old in ways and len(ways[old].calls) < MOST_WRITES:
                    calls, inputs, workspace = ways[old]
                    ways[new] = Way([*calls, call], list(dict.fromkeys(inputs + reads)), workspace)
        for value, way in ways.items():
            alive = self._last_op[value] >= self.first_backward
            if value not in overwritten and not alive and "keep" not in self.tensors[value]:
                result[value] = way
        return result


@functools.lru_cache(None)
def makes_tensors(func):
    """Tells the ops that make or write tensors. Those that only show some run or do not, as references
    to tensors are, and fake tensors show others than real ones."""
    written = any(a.alias_info is not None and a.alias_info.is_write for a in func._schema.arguments)
    return written or any(a.alias_info is None and "Tensor" in str(a.type)
                          for a in func._schema.returns)


def is_plain(tensor):
    """Tells tensors that are their storage, shape and strides, and nothing else."""
    return (type(tensor) in (torch.Tensor, torch.nn.Parameter, FakeTensor) and
            tensor.layout is torch.strided and not tensor.is_conj() and not tensor.is_neg() and
            not tensor.is_quantized)


def statistics_of(func, given):
    """Returns the arguments without which batch normalization does the same, but for updating them."""
    return [argument.name for argument in func._schema.arguments
            if argument.name.startswith("running_") and given.get("training")
            and isinstance(argument.type, torch.OptionalType)]
