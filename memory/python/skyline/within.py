"""Eager steps of a torch.nn.Module that keep to a budget of bytes.

    with within(model, 2400 * 2**20, inputs=(x, y)) as step:
        for x, y in loader:
            optimizer.zero_grad()
            loss = model(x, y)
            loss.backward()
            optimizer.step()
    print(step.planned, step.taken, step.recomputed, step.extra_seconds)

No compiler, and no change of the module. A traced step says which values backward reads, a planner
which of them are recomputed. Then each op of a real step is compared with the trace. Autograd packs a
tensor: a kept one stays as it is; of another one only its form is kept, with the op that wrote it and
what that op read. Backward unpacks it: the op runs again, on the same values.
"""

import contextlib
import functools
import inspect
import time
import warnings

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from .budgeted_step import ON_AN_EPYC, Kept, Plan, PythonSeconds, Run, TooFewBytes
from .op_seconds import measured_seconds, modelled_seconds
from .saved_tensors import SavingTrace, makes_tensors
from .traced_step import tensors_in
from .traces import whole

SECONDS = {"measured": measured_seconds, "modelled": modelled_seconds}


def within(module, bytes, *, inputs, loss=None, seconds="measured", accumulates=False):
    """Returns a context in which training steps of the module take at most `bytes`.

    bytes    of a step by storage: inputs, activations, gradients; without parameters, buffers and the
             optimizer's states. What kernels take and free inside is not counted
    inputs   as the step will have them: a tensor, a tuple of arguments or a dict of named ones;
    loss     makes the loss of what the module returns (unset: the module returns the loss, or an
             object with .loss); what the module returns counts as alive to the end of backward
    seconds  of each op: "measured", each different one alone; or "modelled", from its bytes and flops
    accumulates  the step adds to gradients that are there before, which do not count

    Losses and gradients have the same bits as without it, if the ops of forward give the same bits each
    time, as on the CPU. Random ops, ops that write parameters or
    buffers, and ops of other libraries never run again: what they write is kept, and `not_winnable`
    counts it by op. A step that differs from the trace keeps everything from its first other op on,
    with a warning; if it differs again it is traced and planned anew, once for each form of inputs.

    Raises ValueError if no plan fits, with what is missing and the op that needs it, and for modules
    under torch.compile, whose ops are not seen. RuntimeError, as autograd, if backward reads a tensor
    that was written in place since, or reads anew what the plan has freed (retain_graph).
    """
    return Within(module, bytes, inputs, loss, seconds, accumulates)


class Within:
    """The context, and what it knows. Bytes are those of one step.

    planned              of the plan; all_kept: if nothing is recomputed; least: the fewest that were
                         found
    taken                the most that a step held so far, by storage; None before the first one
    recomputed           ops that the last finished step ran again
    planned_recomputes   ops that the plan runs again
    step_seconds         of forward and backward within the plan, as foreseen
    hook_seconds         of these, those of Python beside the ops of a step that keeps all
    extra_seconds        of these, those of recomputes
    least_extra_seconds  no step that recomputes the same kinds of values within `planned` bytes takes
                         fewer
    seconds_from         "measured" or "modelled"
    activations          bytes that backward reads
    not_winnable         of these, those that cannot be recomputed, by op
    """

    def __init__(self, module, bytes, inputs, loss, seconds, accumulates):
        if seconds not in SECONDS:
            raise ValueError(f'seconds: got {seconds!r}, expected "measured" or "modelled"')
        refuse_compiled(module)
        self.bytes, self.seconds_from = whole(bytes, "bytes"), seconds
        self._taken, self.recomputed = 0, 0
        self._module, self._loss = module, loss or loss_in
        self._run, self._tracing, self._warned = None, False, set()
        self._plans = {}
        accumulated = [name for name, parameter in module.named_parameters()
                       if accumulates and parameter.requires_grad]
        self._plan(inputs, accumulated)
        self._plans[self._key(tensors_in(inputs), module.parameters(), accumulated)] = [self._now]

    def _plan(self, inputs, accumulated):
        self._tracing = True
        try:
            trace = SavingTrace.of(self._module, inputs, self._loss, accumulated=accumulated)
        finally:
            self._tracing = False
        python = python_seconds() if self.seconds_from == "measured" else ON_AN_EPYC
        self._now = Plan(trace, self.bytes, SECONDS[self.seconds_from](trace.calls), python)
        for name in ("planned", "all_kept", "least", "planned_recomputes", "step_seconds",
                     "hook_seconds", "extra_seconds", "least_extra_seconds", "not_winnable",
                     "activations"):
            setattr(self, name, getattr(self._now, name))

    @property
    def taken(self):
        return max(self._taken, self._run.most if self._run else 0) or None

    def __deepcopy__(self, memo):
        return self  # a copy of the module has the hook, too

    def __enter__(self):
        self._begin_hook = self._module.register_forward_pre_hook(
            self._begin, prepend=True, with_kwargs=True)
        self._hooks = torch.autograd.graph.saved_tensors_hooks(self._pack, unpack)
        self._mode = SeeOps(self)
        self._hooks.__enter__()
        self._mode.__enter__()
        return self

    def __exit__(self, *error):
        self._mode.__exit__(*error)
        self._hooks.__exit__(*error)
        self._begin_hook.remove()
        self._forget_run()

    def _key(self, inputs, parameters, accumulated):
        """Returns the form of a step: of its inputs, and of what its parameters have."""
        return (self._module.training, tuple(p.requires_grad for p in parameters),
                tuple(accumulated), tuple((t.shape, t.stride(), t.dtype, t.requires_grad) for t in inputs))

    def _begin(self, module, args, kwargs):
        """A step begins: follows the plan of its inputs' form."""
        if self._tracing or module is not self._module or not torch.is_grad_enabled():
            return
        if self._run and self._run.begins_again():
            return
        self._forget_run()
        inputs = tensors_in((args, kwargs))
        parameters = dict(module.named_parameters())
        accumulated = [name for name, p in parameters.items() if p.grad is not None]
        key = self._key(inputs, parameters.values(), accumulated)
        plans = self._plans.setdefault(key, [])
        if not plans:
            plans.append(None)  # traced when it comes again
            self.warn(f"no plan for inputs of {', '.join(str(tuple(t.shape)) for t in inputs)}")
            plan = None
        else:
            if len(plans) == 1 and (plans[0] is None or plans[0].differed):
                plans.append(self._planned_anew(bound_inputs(module, args, kwargs), accumulated))
            plan = plans[-1]
        if plan and plan.differed:
            plan = None
        self._run = Run(self, plan, [*parameters.values(), *module.buffers(), *(
            parameters[name].grad for name in accumulated)], inputs)

    def _forget_run(self):
        if self._run:
            self._taken = max(self._taken, self._run.most)
            self._run.close()
        self._run = None

    def _planned_anew(self, inputs, accumulated):
        try:
            self._plan(inputs, accumulated)
        except ValueError as error:
            if isinstance(error, TooFewBytes):
                raise
            self.warn(f"the step cannot be traced: {error}")
            return None
        return self._now

    def _pack(self, tensor):
        return self._run.pack(tensor) if self._run and not self._run.is_over else Kept(tensor)

    def warn(self, why):
        if why not in self._warned:
            self._warned.add(why)
            warnings.warn(f"within: {why}: this step keeps everything", stacklevel=2)


class SeeOps(TorchDispatchMode):
    """Shows a run each op that makes or writes tensors."""

    @classmethod
    def _should_skip_dynamo(cls):
        return False  # nothing is compiled; the guard against it takes a fifth of a small op

    def __init__(self, owner):
        super().__init__()
        self._owner = owner

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        run = self._owner._run
        if run is None or run.is_over or not makes_tensors(func):
            return func(*args, **(kwargs or {}))
        return run.call(func, args, kwargs or {})


def unpack(packed):
    return packed.unpack()


@functools.lru_cache(None)
def python_seconds():
    """Measures what Python takes on this machine: steps of small ops, whose own seconds are few."""
    with torch.random.fork_rng(), torch.enable_grad():
        layers = [layer for _ in range(8) for layer in (torch.nn.Linear(8, 8), torch.nn.Tanh())]
        module, x = torch.nn.Sequential(*layers), torch.ones(8, 8)

        def fastest(context, steps=10):
            seconds = []
            with context:
                for _ in range(steps):
                    start = time.thread_time()
                    module(x).sum().backward()
                    seconds.append(time.thread_time() - start)
            return min(seconds)

        def budgeted(bytes):
            return Within(module, bytes, (x,), torch.sum, "modelled", True)

        fastest(contextlib.nullcontext())  # gradients are there from now on
        kept = budgeted(2**40)
        least = budgeted(kept.least)
        plain, with_hooks, with_recomputes = map(fastest, (contextlib.nullcontext(), kept, least))
        return PythonSeconds(max(0, with_hooks - plain) / len(kept._now.calls),
                             max(0, with_recomputes - with_hooks) / least.planned_recomputes)


def loss_in(returned):
    """Returns the loss that a module returned."""
    loss = getattr(returned, "loss", returned)
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise ValueError("the module returns no loss: give one that makes it, loss=")
    return loss


def bound_inputs(module, args, kwargs):
    """Returns the arguments of a call as SavingTrace takes them."""
    if not kwargs:
        return args
    return dict(inspect.signature(module.forward).bind(*args, **kwargs).arguments)


def refuse_compiled(module):
    for name, child in module.named_modules():
        if type(child).__name__ == "OptimizedModule" or child._compiled_call_impl:
            raise ValueError(f"layer {name!r}: torch.compile'd modules cannot run within a budget: "
                             "their ops are not seen; give the module as it was before")
