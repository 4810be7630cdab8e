"""Does a training step fit into a device's memory?

    python -m skyline.fits train.py --device-memory 24GiB -- ARGUMENTS OF THE SCRIPT

The script runs as it is up to its first training step. That step's forward, backward and update run on
fake tensors: no memory is taken, and nothing is computed (numbers that the script asks for are 0). With
--batch-option --batch-size the script runs again with other batches, for the largest one that fits.
skyline.fits.fits() answers the same for a module.
"""

import argparse
import contextlib
import inspect
import runpy
import sys
from dataclasses import dataclass, field

import numpy as np
import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, FakeTensorMode
from torch.optim.optimizer import register_optimizer_step_pre_hook
from torch.utils._pytree import tree_map_only

from .budgeted_step import Plan, TooFewBytes
from .graphs import StepGraph, order
from .op_seconds import modelled_seconds
from .saved_tensors import SavingRecorder, SavingTrace
from .traced_step import FakeStep, LayerNames, tensors_in
from .traces import plan, replay
from .within import loss_in

UNITS = {"B": 1, "KiB": 2**10, "MiB": 2**20, "GiB": 2**30, "KB": 10**3, "MB": 10**6, "GB": 10**9}
MOST_BATCH = 2**20
LEFT_OUT = """Not counted: what kernels take and free inside (workspaces of convolutions, say), the
device's context, and what the program does outside of the step. No accuracy was measured on cards."""


@dataclass
class Fit:
    """What one training step needs. Bytes; resident ones are parameters, buffers and states."""

    device_memory: int
    resident: int
    gradients: int
    inputs: int
    step: int  # the most alive at once beside resident ones
    reserved: dict  # with resident ones, by allocator; "caching" is PyTorch's
    planned: int  # with resident ones, by one plan of the step
    bound: int  # no plan needs less
    within: Plan = field(repr=False)  # what skyline.pytorch.within would do; None: no plan fits
    missing: str = ""  # why none fits
    largest_batch: int = None  # under PyTorch's allocator; None: it was not asked for, or none fits

    @property
    def fits(self) -> bool:
        """True if the step fits under PyTorch's caching allocator."""
        return self.reserved["caching"] <= self.device_memory

    def __str__(self):
        rows = [("resident (parameters, buffers, states)", self.resident),
                ("gradients", self.gradients), ("inputs", self.inputs),
                ("step, beside resident", self.step),
                *((f"with resident, {name}", bytes) for name, bytes in self.reserved.items()),
                ("with resident, planned", self.planned), ("no plan needs less", self.bound)]
        lines = [f"{name:42}{bytes / 2**20:12,.1f} MiB" +
                 ("" if bytes <= self.device_memory else "  does not fit") for name, bytes in rows]
        if self.within:
            base = self.within.step_seconds - self.within.extra_seconds
            lines.append(f"skyline.pytorch.within fits: {100 * self.within.extra_seconds / base:.1f} % "
                         f"longer (at least {100 * self.within.least_extra_seconds / base:.1f} %), "
                         "by a model of a few cores")
        else:
            lines.append(f"skyline.pytorch.within does not fit: {self.missing}")
        if self.largest_batch is not None:
            lines.append(f"largest batch under PyTorch's allocator: {self.largest_batch}")
        return "\n".join([*lines, LEFT_OUT])


def fits(module, inputs, device_memory, *, loss=None, optimizer=None, largest_batch=False) -> Fit:
    """Returns what a step of the module needs beside `device_memory` bytes.

    inputs, optimizer  as step_graph_of() takes them
    loss               as within() takes it
    largest_batch      also tries other sizes of the inputs' first dimension; the loss must then take
                       its labels from the inputs

    Raises ValueError for a step that cannot be traced.
    """
    def fit_of(inputs):
        return fit_in(SavingTrace.of(module, inputs, loss or loss_in, optimizer=optimizer),
                      device_memory)

    fit, tensors = fit_of(inputs), tensors_in(inputs)
    if largest_batch:
        fit.largest_batch = largest(lambda batch: fit_of(tree_map_only(
            torch.Tensor, lambda t: t.new_zeros((batch, *t.shape[1:])), inputs)), len(tensors[0]), fit)
    return fit


def fit_in(trace, device_memory) -> Fit:
    """Returns a traced step's needs."""
    blocks = order(StepGraph(trace.tensors, trace.ops), "program").program_blocks
    planned, resident, count = plan(blocks), sum(trace.residents), len(trace.residents)
    sizes = np.append(blocks["size"], trace.residents)
    everything = {"lower": np.append(blocks["lower"], [0] * count)[sizes > 0],
                  "upper": np.append(blocks["upper"], [max(blocks["upper"]) + 1] * count)[sizes > 0],
                  "size": sizes[sizes > 0]}
    within, missing = None, ""
    try:
        within = Plan(trace, max(0, device_memory - resident), modelled_seconds(trace.calls))
    except TooFewBytes as error:
        missing = str(error)
    return Fit(device_memory, resident, trace.gradients,
               sum(trace.tensors[value]["bytes"] for value in trace.given), planned.lower_bound,
               {row.allocator: row.reserved for row in replay(everything)},
               planned.peak + resident, planned.lower_bound + resident, within, missing)


def largest(fit_of, batch, fit):
    """Returns the largest batch that fits, by bisection; 0 if none does."""
    low, high = (batch, 2 * batch) if fit.fits else (0, batch)
    while fit.fits and high <= MOST_BATCH and fit_of(high).fits:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fit_of(middle).fits else (low, middle)
    return low


class StepSeen(BaseException):
    """Ends a script at its optimizer's step."""


class ScriptRecorder(SavingRecorder):
    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if self.phase == "forward" and torch._C._current_autograd_node() is not None:
            self.phase = "backward"
        try:
            return super().__torch_dispatch__(func, types, args, kwargs)
        except DataDependentOutputException:
            if func is not torch.ops.aten._local_scalar_dense.default:
                raise
            return 0  # a number that the script prints, say


class ScriptStep:
    """The first training step of a script, from its first module's call to its optimizer's step."""

    def __init__(self):
        self.module = self.recorder = self.step = None
        self._call, self._contexts = torch.nn.Module.__call__, contextlib.ExitStack()

    def trace(self, script, arguments):
        argv, torch.nn.Module.__call__ = sys.argv, lambda *args, **named: self._see(*args, **named)
        hook = register_optimizer_step_pre_hook(self._end)
        sys.argv = [script, *arguments]
        try:
            runpy.run_path(script, run_name="__main__")
        except StepSeen:
            return SavingTrace(self.recorder)
        except Exception as error:
            if self.recorder is None:
                raise
            raise ValueError(f"{self.recorder.place()}: {error}") from error
        finally:
            self._contexts.close()
            torch.nn.Module.__call__, sys.argv = self._call, argv
            hook.remove()
        raise ValueError(f"{script} ended before the step of an optimizer")

    def _see(self, module, *args, **named):
        trains = module.training and torch.is_grad_enabled() and any(
            parameter.requires_grad for parameter in module.parameters())
        if self.recorder is None and trains:
            fakes = self._contexts.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
            self.step = FakeStep(module, (args, named), None, None, fakes)
            self._contexts.enter_context(self.step.fake_module())
            self.recorder = ScriptRecorder(self.step)
            for context in (self.recorder, LayerNames(module, self.recorder), self.recorder.hooks()):
                self._contexts.enter_context(context)
            args, named = self.step.args
        return self._call(module, *args, **named)

    def _end(self, optimizer, args, kwargs):
        """Traces the update by an optimizer like the script's."""
        if self.recorder is None or self.recorder.phase == "update":
            return
        known = inspect.signature(type(optimizer)).parameters
        trained = [p for p in self.step.parameters.values() if p.grad is not None]
        like = type(optimizer)(trained, **{name: value for name, value in optimizer.defaults.items()
                                           if name in known})
        self.recorder.phase, self.recorder.quiet = "update", True
        like.step()  # makes its states
        self.recorder.quiet = False
        for tensor in tensors_in(list(like.state.values())):
            self.recorder._add_resident(tensor)
        like.step()
        raise StepSeen


def bytes_in(text):
    """Returns the bytes that a text such as 24GiB says."""
    number = text.rstrip("BKMGi")
    if text[len(number):] not in UNITS:
        raise argparse.ArgumentTypeError(f"got {text!r}, expected a number and one of {[*UNITS]}")
    return int(float(number) * UNITS[text[len(number):]])


def main():
    parser = argparse.ArgumentParser(prog="python -m skyline.fits", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("script")
    parser.add_argument("--device-memory", type=bytes_in, required=True, metavar="BYTES")
    parser.add_argument("--batch-option", help="the script's option that sets the batch")
    ours = [*sys.argv, "--"].index("--")
    given, arguments = parser.parse_args(sys.argv[1:ours]), sys.argv[ours + 1:]

    def fit_of(*more):
        return fit_in(ScriptStep().trace(given.script, [*arguments, *more]), given.device_memory)

    fit = fit_of()
    if given.batch_option:
        fit.largest_batch = largest(lambda batch: fit_of(given.batch_option, str(batch)), 1,
                                    fit_of(given.batch_option, "1"))
    print(fit)
    return 0 if fit.fits else 1


if __name__ == "__main__":
    sys.exit(main())
