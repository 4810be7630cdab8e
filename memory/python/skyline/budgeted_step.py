"""The plan of a step within a budget, and one step that follows it."""

import collections
import functools
import itertools
import weakref
from typing import NamedTuple

import torch

from .graphs import budget_curve
from .saved_tensors import Form, is_plain, statistics_of
from .traced_step import arguments_of, storage_of, tensors_in


class PythonSeconds(NamedTuple):
    """What Python takes beside each op of a step, and beside each that runs again."""

    call: float
    recompute: float


ON_AN_EPYC = PythonSeconds(60e-6, 150e-6)  # one core of it


class TooFewBytes(ValueError):
    pass


class Plan:
    """Which saved tensors of a traced step are dropped, and when each is recomputed and freed.

    calls, begins  of the trace: the ops that must run, and where the module is called
    drops          for each saved tensor, whether it is dropped
    before         by group: values to recompute, or None, each with the values to free after it
    held           values that recomputes read, which nothing else may hold so long
    noted          calls, by identity, that may run again
    """

    def __init__(self, trace, bytes, seconds, python=ON_AN_EPYC):
        self.calls, self.begins, self.saved = trace.calls, trace.begins, trace.saved
        self.recomputes, self.given, self.differed = trace.recomputes, trace.given, False
        self._trace, self._ops = trace, trace.graph.ops
        ops, rows = self._seconds(seconds, python)
        curve = budget_curve(trace.graph, ops, trace.backward, rows)
        self.all_kept, self.least = curve[0].peak, curve[-1].peak
        point = next((point for point in curve if point.peak <= bytes), None)
        if point is None:
            raise TooFewBytes(f"bytes: got {bytes}, but the least that was found is {self.least}: "
                              f"{self.least - bytes} are missing at {self._peak(curve[-1].sequence)}")
        self.planned, self.extra_seconds = point.peak, point.extra_seconds
        self.least_extra_seconds = min(point.bound_seconds, point.extra_seconds)
        self.hook_seconds = len(seconds) * python.call
        self.step_seconds = sum(seconds) + point.extra_seconds + self.hook_seconds
        recomputed = [-1 - item for item in point.sequence if item < 0]
        self.planned_recomputes = sum(len(self.recomputes[value].calls) for value in recomputed)
        self.noted = {id(call) for value in recomputed for call in self.recomputes[value].calls}
        saved, kept = {saved.value for saved in self.saved} - {None}, collections.Counter()
        self.activations = sum(trace.tensors[value]["bytes"] for value in saved)
        maker = {value: op["name"] for op in trace.ops for value in op["outputs"]}
        for value in saved - self.recomputes.keys():
            kept[maker[value]] += trace.tensors[value]["bytes"]
        self.not_winnable = dict(kept.most_common())
        self._schedule(point.sequence)

    def _seconds(self, seconds, python):
        """Returns those of the graph's ops, and the rows of what may be recomputed."""
        ops, of = [0.0] * len(self._ops), {}
        for call, taken in zip(self.calls, seconds):
            of[id(call)] = taken
            if call.group in self._trace.op_of_group:
                ops[self._trace.op_of_group[call.group]] += taken
        results = collections.Counter(id(way.calls[0]) for way in self.recomputes.values())
        rows = []
        for value, way in self.recomputes.items():
            taken = sum(of[id(call)] + python.recompute for call in way.calls)
            rows.append((value, way.inputs, way.workspace, taken, taken / results[id(way.calls[0])]))
        return ops, rows

    def _reads(self, sequence):
        """Returns, for each op of a sequence, how often each value that it reads was recomputed."""
        reads, copies = [], collections.Counter()
        for item in sequence:
            inputs = self._ops[item]["inputs"] if item >= 0 else self.recomputes[-1 - item].inputs
            reads.append({value: copies[value] for value in inputs})
            if item < 0:
                copies[-1 - item] += 1
        return reads

    def _schedule(self, sequence):
        group_of = {op: group for group, op in self._trace.op_of_group.items()}
        reads = self._reads(sequence)
        of_group = {group_of[item]: read for item, read in zip(sequence, reads) if item >= 0}
        self.drops = [saved.value is not None and
                      any(of_group[group][saved.value] for _, group in saved.unpacks)
                      for saved in self.saved]
        dropped = {saved.value for saved, drops in zip(self.saved, self.drops) if drops}
        last_read = {(value, copy): at for at, (item, read) in enumerate(zip(sequence, reads))
                     for value, copy in read.items() if item < 0 or copy or value in dropped}
        self.held = {value for value, copy in last_read if copy == 0}
        self.before, waiting, freed = {}, [], collections.defaultdict(list)
        for (value, _), at in last_read.items():
            freed[at].append(value)
        for at, item in enumerate(sequence):
            if item >= 0:
                self.before[group_of[item]], waiting = waiting, []
            if item < 0 or at in freed:
                waiting.append((-1 - item if item < 0 else None, freed[at]))

    def _peak(self, sequence):
        """Names the op of a sequence that needs the most bytes."""
        sizes = [tensor["bytes"] for tensor in self._trace.graph.tensors]
        lives, copies, rooms = {}, collections.Counter(), []
        for at, (item, read) in enumerate(zip(sequence, self._reads(sequence))):
            for copy in read.items():
                lives[copy][1] = at
            copies[-1 - item] += item < 0
            for value in [-1 - item] if item < 0 else self._ops[item]["outputs"]:
                keep = self._trace.graph.tensors[value].get("keep")
                lives[value, copies[value]] = [at, len(sequence) if keep else at]
            rooms.append(self.recomputes[-1 - item].workspace if item < 0 else
                         self._ops[item]["workspace"])
        change = [0] * (len(sequence) + 2)
        for (value, _), (first, last) in lives.items():
            change[first] += sizes[value]
            change[last + 1] -= sizes[value]
        live = [bytes + room for bytes, room in zip(itertools.accumulate(change), rooms)]
        item = sequence[live.index(max(live))]
        op = (self._ops[item] if item >= 0 else
              self._trace.ops[self.recomputes[-1 - item].calls[-1].op])
        return f"{op['name']} of layer {op['layer']!r} in {op['phase']}"


class Kept:
    """A packed tensor that stays. Autograd does not see whether it is written, so this does: `value`,
    if it is one of a run, tells it of outputs, whose version is their own."""

    __slots__ = ("tensor", "version", "run", "value")

    def __init__(self, tensor, run=None, value=None):
        self.tensor, self.version, self.run, self.value = tensor, tensor._version, run, value

    def unpack(self):
        changed = self.tensor._version != self.version or (
            self.run and self.run.value_of.get(storage_of(self.tensor), self.value) != self.value)
        if changed:
            raise RuntimeError(f"a tensor of {tuple(self.tensor.shape)} that backward needs was "
                               "modified by an inplace operation since forward saved it")
        return self.tensor


class Dropped:
    """A packed tensor of which only the form stays."""

    __slots__ = ("run", "number", "form", "times")

    def __init__(self, run, number, form):
        self.run, self.number, self.form, self.times = run, number, form, 0

    def unpack(self):
        self.times += 1
        return self.run.unpack(self.number, self.form, self.times - 1)


class Ref:
    """An argument of an op that may run again: how a value's storage is shown."""

    __slots__ = ("value", "form")

    def __init__(self, value, form):
        self.value, self.form = value, form


class Run:
    """One step: counts its bytes, compares its ops with the plan's, recomputes what was dropped."""

    def __init__(self, owner, plan, residents, inputs):
        self._owner, self._plan = owner, plan
        self.follows, self.is_over = plan is not None, False
        self.value_of = {}  # by storage
        self._ran, self._packed, self._group, self._begun = 0, 0, -1, 1
        self._recipes, self._copies, self._alive = {}, {}, {}  # by id of the call; by value
        self._known = {storage_of(tensor): None for tensor in residents}
        self._now = self.most = self._recomputed = 0  # bytes alive, the most of them, ops
        for tensor in inputs:
            self._count(tensor)

    def close(self):
        """Lets go of all tensors, once another step begins; not if its backward is still to come."""
        if self.is_over:
            for table in (self._known, self._recipes, self._alive):
                table.clear()

    def begins_again(self):
        """Whether the trace ran the module once more at this place of its step."""
        if self.follows and not self.is_over and self._begun < len(self._plan.begins):
            if self._plan.begins[self._begun] == self._ran:
                self._begun += 1
                return True
        return False

    def call(self, func, args, kwargs):
        expected = self._expected(func, args, kwargs) if self.follows else None
        result = func(*args, **kwargs)
        tensors = (result,) if type(result) is torch.Tensor else tensors_in(result)
        for tensor in tensors:
            self._count(tensor)
        if expected is not None:
            self._ran += 1
            if tuple(tensor.shape for tensor in tensors) != expected.shapes:
                self._differ(f"{func} gave other shapes")
            else:
                self._note(expected, tensors)
        return result

    def _expected(self, func, args, kwargs):
        """Returns the call of the trace; None, after a warning, if this is another one."""
        expected = self._plan.calls[self._ran]
        if func is not expected.func:
            return self._differ(f"{func} ran where {expected.func} was expected")
        if expected.group != self._group:
            self._enter(expected.group)
        if id(expected) in self._plan.noted:
            reads = [self.value_of.get(storage_of(t)) for t in tensors_in((args, kwargs))]
            if reads != expected.reads:
                return self._differ(f"{func} reads other tensors")
            self._recipes[id(expected)] = self._recipe(func, args, kwargs)
        return expected

    def _note(self, call, tensors):
        """Gives the storages that a call made or wrote the numbers of their values."""
        for place, value in call.made:
            storage = tensors[place].untyped_storage()
            self.value_of[storage._cdata] = value
            self._alive[value] = self._known[storage._cdata]
            if value in self._plan.held:
                self._copies[value] = storage
        if call.wrote:
            for key, value in self.value_of.items():
                new = call.wrote.get(value)
                if new is not None:
                    self.value_of[key], self._alive[new] = new, self._known[key]
                    self._alive.pop(value, None)
                    if new in self._plan.held:
                        self._copies[new] = self._known[key]()
        if self._ran == len(self._plan.calls):
            self.is_over = True
            self._copies.clear()
            self._owner.recomputed = self._recomputed

    def _differ(self, how):
        call = self._plan.calls[min(self._ran, len(self._plan.calls) - 1)]
        self.follows, self._plan.differed = False, True
        self._owner.warn(f"op {self._ran} differs from the traced step ({call.place}): {how}")

    def _recipe(self, func, args, kwargs):
        """Returns the call with its arguments by value, not by the tensors of forward."""
        missing = statistics_of(func, arguments_of(func, args, kwargs))
        if missing:
            names = [argument.name for argument in func._schema.arguments]
            args = tuple(None if name in missing else arg for name, arg in zip(names, args))
        return (func, self._by_value(args), {k: self._by_value(v) for k, v in kwargs.items()},
                torch.is_grad_enabled())  # oneDNN's LSTM makes its workspace only then

    def _by_value(self, leaf):
        if isinstance(leaf, torch.Tensor):
            value = self.value_of.get(storage_of(leaf))
            if value is not None:
                return Ref(value, Form.of(leaf))
            return Kept(leaf)  # from before the step
        if isinstance(leaf, (tuple, list)):
            return type(leaf)(self._by_value(part) for part in leaf)
        return leaf

    def _by_tensor(self, leaf, built):
        if isinstance(leaf, Ref):
            storage = built.get(leaf.value)
            return leaf.form.show(self._storage(leaf.value) if storage is None else storage)
        if isinstance(leaf, Kept):
            return leaf.unpack()
        if isinstance(leaf, (tuple, list)):
            return type(leaf)(self._by_tensor(part, built) for part in leaf)
        return leaf

    def pack(self, tensor):
        number, self._packed = self._packed, self._packed + 1
        value = self.value_of.get(storage_of(tensor))
        if not self.follows or number >= len(self._plan.saved):
            return Kept(tensor)
        if self._plan.saved[number].value != (value if is_plain(tensor) else None):
            self._differ("it saves another tensor")
        elif self._plan.drops[number]:
            return Dropped(self, number, Form.of(tensor))
        return Kept(tensor) if value is None else Kept(tensor, self, value)

    def unpack(self, number, form, times):
        saved = self._plan.saved[number]
        value, unpacks = saved.value, saved.unpacks
        with torch._C._DisableTorchDispatch():
            if self.follows and not self.is_over:
                if times < len(unpacks) and unpacks[times][0] == self._ran:
                    self._enter(unpacks[times][1])
                else:
                    self._differ("backward unpacks in another sequence")
            if self._storage(value) is None:
                self._fetch(value)
            return form.show(self._storage(value))

    def _enter(self, group):
        """Runs what the plan has before a group, and frees what it no longer needs."""
        for at in range(self._group + 1, group + 1):
            for value, freed in self._plan.before.get(at, ()):
                if value is not None:
                    self._fetch(value)
                for gone in freed:
                    self._copies.pop(gone, None)
        self._group = max(self._group, group)

    def _storage(self, value):
        """Returns the storage of a value; None if it is dropped or gone."""
        storage = self._copies.get(value)
        if storage is None and value in self._alive:
            storage = self._alive[value]()
        return storage

    def _fetch(self, value):
        """Recomputes a value, and what it needs for that, deepest first."""
        waiting = [value]
        while waiting:
            value = waiting[-1]
            if any(id(call) not in self._recipes for call in self._plan.recomputes[value].calls):
                raise RuntimeError(f"within: backward reads value {value}, which was freed after its "
                                   "last reader in the plan: run such a step outside of `within`")
            missing = [other for other in self._plan.recomputes[value].inputs
                       if other not in self._plan.given and self._storage(other) is None]
            waiting += missing
            if not missing:
                self._recompute(waiting.pop())

    def _recompute(self, value):
        built = {}  # storages that ops write in place in turn
        for call in self._plan.recomputes[value].calls:
            func, args, kwargs, saves = self._recipes[id(call)]
            with torch.set_grad_enabled(saves), torch._C._DisableTorchDispatch(), \
                    torch._C._AutoDispatchBelowAutograd(), \
                    torch._C._ExcludeDispatchKeyGuard(AUTOCAST):
                result = func(*self._by_tensor(args, built),
                              **{k: self._by_tensor(v, built) for k, v in kwargs.items()})
            tensors = tensors_in(result)
            for tensor in tensors:
                self._count(tensor)
            built.update((made, tensors[place].untyped_storage()) for place, made in call.made)
            built.update((new, built[old]) for old, new in call.wrote.items())
            self._recomputed += 1
        self._copies[value] = built[value]

    def _count(self, tensor):
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key not in self._known:
            gone = functools.partial(self._gone, key, storage.nbytes())
            self._known[key] = weakref.ref(storage, gone)
            self._now += storage.nbytes()
            self.most = max(self.most, self._now)

    def _gone(self, key, bytes, _):
        self._now -= bytes
        self._known.pop(key, None)
        self.value_of.pop(key, None)


AUTOCAST = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU) | torch._C.DispatchKeySet(
    torch._C.DispatchKey.AutocastCUDA)
