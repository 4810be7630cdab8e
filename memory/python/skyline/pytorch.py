"""Reads the training step of a torch.nn.Module as a step graph.

    graph = step_graph_of(torchvision.models.resnet50(), torch.zeros(32, 3, 224, 224))
    best = skyline.order(graph)
    print(graph.eager_peak, best.peak, best.proved_optimal, skyline.plan(best.blocks).peak)

The step runs eagerly on fake tensors: nothing is computed and no memory is taken, whatever the size.
A dispatch mode sees each op of forward, backward and the update in the sequence in which PyTorch
runs them, with the storages that it reads and writes.
"""

import functools
import weakref
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map_only

from .graphs import StepGraph


@dataclass
class TracedStep(StepGraph):
    """A step graph, and what PyTorch needs for the step."""

    # The most bytes alive at once as PyTorch ran the step, without resident ones: what a caching
    # allocator would report as allocated, without its rounding and without workspaces.
    eager_peak: int = 0


def step_graph_of(module, inputs, *, loss=None, optimizer=None, overwrite=False) -> TracedStep:
    """Returns the graph of one training step: forward, loss, backward and, optionally, the update.

    inputs     of the module: a tensor, a tuple of arguments or a dict of named ones; they are alive
               to the end of the step, as where the training loop holds them
    loss       makes a scalar of what the module returns (unset: the sum of all that it returns)
    optimizer  makes an optimizer of the parameters, e.g. lambda p: torch.optim.SGD(p, lr=0.1). Its
               states are resident, and a gradient is free after its last reader. Unset: there is no
               update, and gradients are alive to the end of the step. Optimizers that read numbers
               back, such as Adam, need fused=True
    overwrite  lets elementwise ops overwrite inputs of the same size, as eager PyTorch never does

    Values are storages: a view is the value that it shows. An op that writes in place makes a value
    in the place of its input. Parameters, buffers and constants are resident. The module is not
    changed.
    """
    with FakeTensorMode(allow_non_fake_inputs=True) as fakes:
        step = FakeStep(module, inputs, loss or sum_of, optimizer, fakes)
        if optimizer:
            step.run()  # makes the optimizer's states
        recorder = Recorder(step, overwrite)
        with recorder, LayerNames(module, recorder):
            step.run(recorder)
        recorder.keep_to_the_end(step.gradients() if not optimizer else ())
    return TracedStep(recorder.tensors, recorder.ops, recorder.resident_bytes,
                      type(module).__name__, recorder.peak)


def sum_of(outputs):
    """Returns the sum of all floating-point tensors in what a module returned."""
    sums = [output.sum() for output in tensors_in(outputs) if output.is_floating_point()]
    if not sums:
        raise ValueError("the module returns no floating-point tensor: give a loss")
    return functools.reduce(torch.add, sums)


def tensors_in(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


class FakeStep:
    """A training step of a module's fake copy."""

    def __init__(self, module, inputs, loss, optimizer, fakes):
        def fake(tensor):
            return fakes.from_tensor(tensor.detach()).requires_grad_(tensor.requires_grad)

        self.module, self.loss = module, loss
        self.parameters = {name: fake(tensor) for name, tensor in module.named_parameters()}
        self.buffers = {name: fake(tensor) for name, tensor in module.named_buffers()}
        inputs = tree_map_only(torch.Tensor, fake, inputs)
        self.named = inputs if isinstance(inputs, dict) else {}
        self.args = () if self.named else inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        trained = [tensor for tensor in self.parameters.values() if tensor.requires_grad]
        self.optimizer = optimizer(trained) if optimizer else None

    def run(self, recorder=None):
        for parameter in self.parameters.values():
            parameter.grad = None
        outputs = torch.func.functional_call(self.module, (self.parameters, self.buffers),
                                             tuple(self.args), self.named)
        loss = self.loss(outputs)
        del outputs
        if recorder:
            recorder.phase = "backward"
            recorder.keep_to_the_end([loss])
        loss.backward()
        if self.optimizer:
            if recorder:
                recorder.phase = "update"
            self.optimizer.step()

    def gradients(self):
        return [tensor.grad for tensor in self.parameters.values() if tensor.grad is not None]

    def inputs(self):
        return tensors_in((self.args, self.named))

    def resident(self):
        states = self.optimizer.state.values() if self.optimizer else ()
        return tensors_in((self.parameters, self.buffers, *states))


class Recorder(TorchDispatchMode):
    """Notes each op with the values that it reads and writes, and counts live bytes."""

    RESIDENT = None

    def __init__(self, step, overwrite):
        super().__init__()
        self.overwrite = overwrite
        self.tensors, self.ops = [], []
        self.phase, self.layers = "forward", [""]
        self.resident_bytes = self.live = self.peak = 0
        self._value_of = {}  # by storage: a number in tensors, or RESIDENT
        self._readers = {}  # by storage: ops since it was written
        self._writer = {}  # by resident storage: the last op that wrote it
        for tensor in step.resident():
            self._add_resident(tensor)
        inputs = [self._add_value(tensor) for tensor in step.inputs() if self._is_new(tensor)]
        if inputs:
            self._add_op("input", [], inputs)
        self.keep_to_the_end(step.inputs())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        self._note(func, args, kwargs or {}, tensors_in(result))
        return result

    def keep_to_the_end(self, tensors):
        for tensor in tensors:
            value = self._value_of.get(storage_of(tensor), self.RESIDENT)
            if value is not self.RESIDENT:
                self.tensors[value]["keep"] = True

    def _note(self, func, args, kwargs, results):
        """Views and ops that write nothing are left out."""
        read = {storage_of(tensor): tensor for tensor in tensors_in((args, kwargs))}
        for tensor in read.values():
            if self._is_new(tensor):  # a constant
                self._add_resident(tensor)
        written = {storage_of(tensor) for tensor in written_tensors(func, args, kwargs)}
        made = {storage_of(tensor): tensor for tensor in results if self._is_new(tensor)}
        if not written and not made:
            return
        op = len(self.ops)
        after = set()
        for storage in read:
            after.update({self._writer[storage]} if storage in self._writer else ())
            after.update(self._readers[storage] if storage in written else ())
        inputs = [self._value_of[storage] for storage in read]
        inputs = [value for value in inputs if value is not self.RESIDENT]
        outputs, in_place = [], []
        for storage in written & set(read):
            self._write(storage, op, inputs, outputs, in_place)
        for storage in set(read) - written:
            self._readers[storage].append(op)
        first = len(outputs)
        outputs += [self._add_value(tensor) for tensor in made.values()]
        if self.overwrite and torch.Tag.pointwise in func.tags:
            in_place += self._overwritable(inputs, outputs, first)
        self._add_op(func.overloadpacket.__name__, inputs, outputs, in_place, sorted(after))

    def _write(self, storage, op, inputs, outputs, in_place):
        """The storage shows a new value from now on, in the place of the old one."""
        self._readers[storage] = []
        old = self._value_of[storage]
        if old is self.RESIDENT:
            self._writer[storage] = op
            return
        in_place.append([inputs.index(old), len(outputs)])
        outputs.append(len(self.tensors))
        self._value_of[storage] = len(self.tensors)
        self.tensors.append(dict(self.tensors[old]))
        self.tensors[old].pop("keep", None)

    def _overwritable(self, inputs, outputs, first):
        return [[i, o] for i, value in enumerate(inputs) for o in range(first, len(outputs))
                if self.tensors[value]["bytes"] == self.tensors[outputs[o]]["bytes"]]

    def _is_new(self, tensor):
        return storage_of(tensor) not in self._value_of

    def _add_value(self, tensor):
        return self._add_storage(tensor, len(self.tensors))

    def _add_resident(self, tensor):
        if self._is_new(tensor):
            self.resident_bytes += tensor.untyped_storage().nbytes()
            self._add_storage(tensor, self.RESIDENT)

    def _add_storage(self, tensor, value):
        storage, key = tensor.untyped_storage(), storage_of(tensor)
        bytes = 0 if value is self.RESIDENT else storage.nbytes()
        if value is not self.RESIDENT:
            self.tensors.append({"bytes": bytes})
        self._value_of[key], self._readers[key] = value, []
        self.live += bytes
        weakref.finalize(storage, self._freed, key, bytes)
        return value

    def _freed(self, key, bytes):
        self.live -= bytes
        for table in (self._value_of, self._readers, self._writer):
            table.pop(key, None)

    def _add_op(self, name, inputs, outputs, in_place=(), after=()):
        self.peak = max(self.peak, self.live)
        op = {"name": name, "layer": self._layer(), "phase": self.phase, "inputs": inputs,
              "outputs": outputs}
        if in_place:
            op["in_place"] = in_place
        if after:
            op["after"] = list(after)
        self.ops.append(op)

    def _layer(self):
        node = torch._C._current_autograd_node() if self.phase == "backward" else None
        return node.metadata.get("layer", "") if node is not None else self.layers[-1]


class LayerNames:
    """Tells a recorder which module runs: in forward by hooks, in backward by a note on each node of
    autograd."""

    def __init__(self, module, recorder):
        self._names = {child: name for name, child in module.named_modules()}
        self._layers = recorder.layers
        self._handles = []

    def __enter__(self):
        for child in self._names:
            self._handles.append(child.register_forward_pre_hook(self._begin))
            self._handles.append(child.register_forward_hook(self._end))

    def __exit__(self, *error):
        for handle in self._handles:
            handle.remove()

    def _begin(self, child, inputs):
        self._label(inputs)
        self._layers.append(self._names[child])

    def _end(self, child, inputs, outputs):
        self._label(outputs)
        self._layers.pop()

    def _label(self, tensors):
        """Notes the running layer on all nodes that lead here and have no note."""
        nodes = [tensor.grad_fn for tensor in tensors_in(tensors)]
        while nodes:
            node = nodes.pop()
            if node is not None and "layer" not in node.metadata:
                node.metadata["layer"] = self._layers[-1]
                nodes += [before for before, _ in node.next_functions]


def storage_of(tensor):
    return tensor.untyped_storage()._cdata


def written_tensors(func, args, kwargs):
    """Returns the arguments that an op's schema says it writes."""
    tensors = []
    for place, argument in enumerate(func._schema.arguments):
        if argument.alias_info is None or not argument.alias_info.is_write:
            continue
        given = args[place] if place < len(args) else kwargs.get(argument.name)
        tensors += tensors_in(given)
    return tensors
