"""Reads the training step of a torch.nn.Module as a step graph.

    graph = step_graph_of(torchvision.models.resnet50(), torch.zeros(32, 3, 224, 224))
    best = skyline.order(graph)
    print(graph.eager_peak, best.peak, best.proved_optimal, skyline.plan(best.blocks).peak)

The step runs eagerly on fake tensors: nothing is computed and no memory is taken, whatever the size.
A dispatch mode sees each op of forward, backward and the update in the sequence in which PyTorch
runs them, with the storages that it reads and writes.
"""

import contextlib
import functools
import warnings
import weakref
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException, DynamicOutputShapeException, FakeTensorMode,
    unset_fake_temporarily)
from torch.nn.utils.stateless import _reparametrize_module
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
               update, and gradients are alive to the end of the step
    overwrite  lets elementwise ops overwrite inputs of the same size, as eager PyTorch never does

    Values are storages: a view is the value that it shows. An op that writes in place makes a value
    in the place of its input. Parameters, buffers and constants are resident. The module is not
    changed. Ops that draw random numbers keep their sequence, and so do all that write a buffer, such
    as two calls of one batch normalization.

    Where nothing needs a gradient, as in a frozen module, the graph is that of inference, and what
    the module returns is alive to the end. Scripted modules run the ops of their first run, without
    layers. Raises ValueError, with the layer, for a step that asks
    for numbers, and for whatever else cannot run on fake tensors.
    """
    with FakeTensorMode(allow_non_fake_inputs=True) as fakes:
        step = FakeStep(module, inputs, loss, optimizer, fakes)
        for _ in range(2 if optimizer else 1):  # the first one makes the optimizer's states
            recorder = Recorder(step, overwrite)
            with recorder, LayerNames(module, recorder):
                step.run(recorder)
        recorder.keep_to_the_end(step.gradients() if not optimizer else ())
    return TracedStep(recorder.tensors, recorder.ops, sum(recorder.residents),
                      type(module).__name__, recorder.peak)


def sum_of(outputs):
    return functools.reduce(torch.add, [output.sum() for output in outputs])


def tensors_in(tree):
    return [leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


class FakeStep:
    """A training step of a module's fake copy."""

    def __init__(self, module, inputs, loss, optimizer, fakes, accumulated=()):
        """Parameters of the names in `accumulated` have gradients, which are resident."""
        copies = {}  # by tensor: modules ask whether arguments are the same

        def fake(tensor):
            if id(tensor) not in copies:
                copy = fakes.from_tensor(tensor.detach()).requires_grad_(tensor.requires_grad)
                copies[id(tensor)] = copy
            return copies[id(tensor)]

        self.module, self.loss, self.fakes = module, loss, fakes
        self.parameters = {name: fake(tensor) for name, tensor in module.named_parameters()}
        self.buffers = {name: fake(tensor) for name, tensor in module.named_buffers()}
        inputs = tree_map_only(torch.Tensor, fake, inputs)
        self.named = inputs if isinstance(inputs, dict) else {}
        self.args = () if self.named else inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        trained = [tensor for tensor in self.parameters.values() if tensor.requires_grad]
        self.before = {name: torch.empty_like(self.parameters[name], requires_grad=False)
                       for name in accumulated}
        self.optimizer = optimizer(trained) if optimizer else None

    def run(self, recorder):
        for name, parameter in self.parameters.items():
            parameter.grad = self.before.get(name)
        try:
            with self.fake_module():
                self._run(recorder)
        except (DataDependentOutputException, DynamicOutputShapeException) as error:
            raise ValueError(f"{recorder.place()}: {error} needs the numbers of a tensor, "
                             "which a traced step does not have") from error
        except (AttributeError, NotImplementedError, RuntimeError, TypeError) as error:
            raise ValueError(f"{recorder.place()}: {error}") from error

    @contextlib.contextmanager
    def fake_module(self):
        """Gives the module its fake tensors to the end of backward, where checkpoints run it again."""
        own = [(child, name, tensor) for child in self.module.modules()
               for name, tensor in (*child._parameters.items(), *child._buffers.items())]
        try:
            with _reparametrize_module(self.module, {**self.parameters, **self.buffers},
                                       tie_weights=True):
                yield
        finally:
            for child, name, tensor in own:  # a layer with two names is left with fake ones
                if getattr(child, name) is not tensor:
                    setattr(child, name, tensor)

    def _run(self, recorder):
        loss = self._forward(recorder)
        if not loss.requires_grad:
            if self.optimizer:
                raise ValueError("the loss depends on no parameter that is trained")
            return
        recorder.phase = "backward"
        loss.backward()
        if self.optimizer:
            recorder.phase = "update"
            self.optimizer.step()

    def _forward(self, recorder):
        """Returns the loss; one of the outputs where there is none to take a gradient of."""
        # TorchScript's profiles ask whether tensors are equal, and later runs would take other ops.
        with torch.jit.optimized_execution(False):
            outputs = self.module(*self.args, **self.named)
        if self.loss:
            loss = self.loss(outputs)
        else:
            values = [output for output in tensors_in(outputs) if output.is_floating_point()]
            if not values:
                raise ValueError("the module returns no floating-point tensor: give a loss")
            trained = any(output.requires_grad for output in values)
            loss = sum_of(values) if trained else values[0]
        recorder.keep_to_the_end([loss] if loss.requires_grad else [loss, *tensors_in(outputs)])
        return loss

    def gradients(self):
        return [tensor.grad for tensor in self.parameters.values() if tensor.grad is not None]

    def inputs(self):
        return tensors_in((self.args, self.named))

    def resident(self):
        states = self.optimizer.state.values() if self.optimizer else ()
        return tensors_in((self.parameters, self.buffers, self.before, *states))


class Recorder(TorchDispatchMode):
    """Notes each op with the values that it reads and writes, and counts live bytes."""

    RESIDENT = None
    RANDOM_NUMBERS = "random numbers"  # the generators' state, as a storage

    def __init__(self, step, overwrite):
        super().__init__()
        self.overwrite, self._fakes = overwrite, step.fakes
        self.tensors, self.ops = [], []
        self.phase, self.layers = "forward", [""]
        self.residents, self.live, self.peak = [], 0, 0  # bytes, by tensor; of others
        # By storage: a number in tensors, or RESIDENT; and the ops that read it since it was written.
        self._value_of, self._readers = {self.RANDOM_NUMBERS: self.RESIDENT}, {}
        self._writer = {}  # by resident storage: the last op that wrote it
        self._workspaces = {}  # of libraries, by storage
        for tensor in step.resident():
            self._add_resident(tensor)
        inputs = [self._add_value(tensor) for tensor in step.inputs() if self._is_new(tensor)]
        if inputs:
            self._add_op("input", [], inputs)
        self.keep_to_the_end(step.inputs())

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        reads = any(storage_of(tensor) in self._workspaces for tensor in tensors_in((args, kwargs)))
        if reads or any(is_unsized(tensor) for tensor in tensors_in(result)):
            result = self._run_on_zeros(func, args, kwargs, result)
        if func.overloadpacket in (torch.ops.aten._embedding_bag,
                                   torch.ops.aten._embedding_bag_forward_only):
            result = with_room_for_a_bag(*result)
        self._note(func, args, kwargs, tensors_in(result))
        return result

    def place(self):
        return f"{self.phase}, layer {self._layer()!r}"

    def keep_to_the_end(self, tensors):
        for tensor in tensors:
            value = self._value_of.get(storage_of(tensor), self.RESIDENT)
            if value is not self.RESIDENT:
                self.tensors[value]["keep"] = True

    def _note(self, func, args, kwargs, results):
        """Views and ops that write nothing are left out."""
        for tensor in tensors_in((args, kwargs)):
            self._add_resident(tensor)  # a constant, if it is new
        read = dict.fromkeys(storage_of(tensor) for tensor in tensors_in((args, kwargs)))
        given = arguments_of(func, args, kwargs)
        written = {storage_of(tensor) for tensor in written_tensors(func, given)}
        if draws_numbers(func, given):
            read[self.RANDOM_NUMBERS] = None
            written.add(self.RANDOM_NUMBERS)
        made = {storage_of(tensor): tensor for tensor in results if self._is_new(tensor)}
        if not written and not made:
            return
        op = len(self.ops)
        after = set()
        for storage in read:
            after.update({self._writer[storage]} if storage in self._writer else ())
            after.update(self._readers.get(storage, ()) if storage in written else ())
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

    def _run_on_zeros(self, func, args, kwargs, result):
        """Fake tensors know neither the size of a library's workspace nor what its reader returns."""
        try:
            with unset_fake_temporarily():
                real = func(*tree_map_only(torch.Tensor, zeros_like, args),
                            **tree_map_only(torch.Tensor, zeros_like, kwargs))
        except (NotImplementedError, RuntimeError) as error:
            warnings.warn(f"{self.place()}: {func} has a workspace of unknown size, which counts as "
                          f"0 bytes: {error}")
            return result
        real = tree_map_only(torch.Tensor, self._fakes.from_tensor, real)
        self._workspaces.update((storage_of(sized), None) for fake, sized in
                                zip(tensors_in(result), tensors_in(real)) if is_unsized(fake))
        return real

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
            self.residents.append(tensor.untyped_storage().nbytes())
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
        for table in (self._value_of, self._readers, self._writer, self._workspaces):
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
        self._names = {child: name for name, child in module.named_modules()
                       if not isinstance(child, torch.jit.ScriptModule)}  # those take no such hooks
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


def is_unsized(tensor):
    """Tells the workspaces of libraries, raw bytes, by having none."""
    return tensor.dtype is torch.uint8 and tensor.untyped_storage().nbytes() == 0


def zeros_like(tensor):
    """Returns a real tensor in the form of a fake one."""
    return torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype,
                               device=tensor.device).zero_()


def with_room_for_a_bag(output, bags, *others):
    """The CPU makes the list of each word's bag one longer than fake tensors say, if there is one."""
    if bags.device.type == "cpu" and bags.numel() > 0:
        bags = bags.new_empty(len(bags) + 1)[:-1]
    return output, bags, *others


def arguments_of(func, args, kwargs):
    """Returns all arguments of an op by name."""
    places = enumerate(func._schema.arguments)
    return {argument.name: args[place] if place < len(args) else
            kwargs.get(argument.name, argument.default_value) for place, argument in places}


def written_tensors(func, given):
    """Returns the arguments that an op writes."""
    names = {argument.name for argument in func._schema.arguments
             if argument.alias_info is not None and argument.alias_info.is_write}
    # Most schemas of batch normalization do not say that training updates running statistics.
    if given.get("training") or "_stats" in func.name():
        names.update(name for name in given if name.startswith("running_"))
    return tensors_in([given[name] for name in names])


def draws_numbers(func, given):
    """Dropout with probability 0 and outside of training draws none."""
    rates = [given[name] for name in ("p", "dropout", "dropout_p") if name in given]
    return (torch.Tag.nondeterministic_seeded in func.tags and
            all(isinstance(rate, torch.Tensor) or rate > 0 for rate in rates) and
            given.get("train", given.get("training")) is not False)
