"""Marks the steps of PyTorch's optimizers for `skyline run`, which puts this folder on Python's path.

Runs the user's own sitecustomize first. Waits for torch.optim.optimizer with a hook of the import.
"""

import ctypes
import functools
import importlib.machinery
import importlib.util
import itertools
import os
import sys
import weakref

HERE = os.path.dirname(os.path.abspath(__file__))
WATCHED = "torch.optim.optimizer"


def without_here(folders):
    return [folder for folder in folders if os.path.abspath(folder or ".") != HERE]


def run_users_own():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def mark_steps(optimizers, library):
    """`optimizers` is the module torch.optim.optimizer. Each optimizer is a kind of steps, numbered by
    their first steps. zero_grad() announces a step: an evaluation before it is none of it."""
    make, zero = optimizers.Optimizer.__init__, optimizers.Optimizer.zero_grad
    kinds, numbers = weakref.WeakKeyDictionary(), itertools.count()

    @functools.wraps(make)
    def begin_and_make(self, *arguments, **named):
        library.skyline_begin()
        make(self, *arguments, **named)

    def step(optimizer, arguments, named):
        if optimizer not in kinds:
            kinds[optimizer] = next(numbers)
        library.skyline_step_of(kinds[optimizer])

    @functools.wraps(zero)
    def zero_and_announce(self, *arguments, **named):
        zero(self, *arguments, **named)
        library.skyline_announce_step()

    optimizers.Optimizer.__init__ = begin_and_make
    optimizers.Optimizer.zero_grad = zero_and_announce
    optimizers.register_optimizer_step_post_hook(step)


class StepFinder:
    """Finds the watched module as Python would, and marks its steps once it has run."""

    def __init__(self, library):
        self.library = library

    def find_spec(self, name, path=None, target=None):
        if name != WATCHED:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def execute_and_mark(module):
            execute(module)
            mark_steps(module, self.library)

        spec.loader.exec_module = execute_and_mark
        return spec


def begin():
    sys.path[:] = without_here(sys.path)
    if "process=0" not in os.environ.get("SKYLINE_RUN", ""):  # programs that this one starts
        rest = without_here(os.environ.pop("PYTHONPATH", "").split(os.pathsep))
        if any(rest):
            os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    library = ctypes.CDLL(None)
    if hasattr(library, "skyline_step_of"):
        sys.meta_path.insert(0, StepFinder(library))


begin()
run_users_own()
