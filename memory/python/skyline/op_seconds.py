"""What the ops of a traced step take: measured one by one, or by a model of the device."""

import functools
import time

import torch
from torch.utils._pytree import tree_map_only
from torch.utils.flop_counter import flop_registry

from .saved_tensors import Form
from .traced_step import tensors_in

BYTES_A_SECOND, FLOPS_A_SECOND = 10e9, 150e9  # of a few cores
RUNS = 3  # the fastest one counts
ENOUGH_SECONDS = 0.3  # an op that takes longer runs once


def measured_seconds(calls):
    """Returns the seconds of each call. Each different one runs alone, on ones, so that no more memory
    is taken than its own; the state of the generators is kept."""
    known, keys = {}, [(call.func, repr(call.arguments)) for call in calls]
    with torch.random.fork_rng(), torch._C._DisableTorchDispatch(), torch.no_grad():
        for key, call in zip(keys, calls):
            try:
                known[key] = known[key] if key in known else fastest_run(call)
            except (RuntimeError, IndexError, TypeError):  # it does not take ones
                known[key] = modelled(call)
    return [known[key] for key in keys]


def modelled_seconds(calls):
    return [modelled(call) for call in calls]


def fastest_run(call):
    seconds = []
    while len(seconds) < RUNS and sum(seconds) < ENOUGH_SECONDS:
        args, kwargs = tree_map_only(Form, ones, call.arguments, is_leaf=is_form)
        synchronize()
        start = time.perf_counter()
        call.func(*args, **kwargs)
        synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def modelled(call):
    """Returns the time of its bytes and of its products, one after the other."""
    args, kwargs, returned = tree_map_only(Form, functools.partial(ones, device="meta"),
                                           (*call.arguments, call.returned), is_leaf=is_form)
    bytes = sum(tensor.nbytes for tensor in tensors_in((args, kwargs, returned)))
    count = flop_registry.get(call.func.overloadpacket)
    flops = count(*args, **kwargs, out_val=returned) if count else 0
    return bytes / BYTES_A_SECOND + flops / FLOPS_A_SECOND


def is_form(leaf):
    return isinstance(leaf, Form)


def ones(form, device=None):
    needed = max(0, form.offset + sum((n - 1) * step for n, step in zip(form.shape, form.stride)) + 1)
    whole = form.dtype.is_floating_point or form.dtype.is_complex
    base = torch.full((needed,), 1 if whole else 0, dtype=form.dtype, device=device or form.device)
    return base.as_strided(*form[1:4])


def synchronize():
    if torch.cuda.is_available():
        torch.cuda.synchronize()
