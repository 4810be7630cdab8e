"""Marks the steps of PyTorch's optimizers for `skyline run`, which puts this folder on Python's path.

Runs the user's own sitecustomize first. Waits for torch.optim.optimizer with a hook of the import.
"""

import ctypes
import functools
import importlib.machinery
import importlib.util
import os
import sys
import threading

HERE = os.path.dirname(os.path.abspath(__file__))
WATCHED = "torch.optim.optimizer"


def leave_environment():
    """Takes this folder off the variable, so that programs started by this one do not see it."""
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    rest = [folder for folder in folders if folder and os.path.abspath(folder) != HERE]
    if rest:
        os.environ["PYTHONPATH"] = os.pathsep.join(rest)
    else:
        os.environ.pop("PYTHONPATH", None)


def run_users_own():
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)


def mark_steps(optimizers, library):
    """`optimizers` is the module torch.optim.optimizer. Each optimizer is a kind of steps, numbered by
    their first steps."""
    make = optimizers.Optimizer.__init__
    lock, kinds = threading.Lock(), [0]

    @functools.wraps(make)
    def begin_and_make(self, *arguments, **named):
        library.skyline_begin()
        make(self, *arguments, **named)

    def step(optimizer, arguments, named):
        with lock:
            kind = optimizer.__dict__.get("_skyline_kind")
            if kind is None:
                kind = optimizer.__dict__["_skyline_kind"] = kinds[0]
                kinds[0] += 1
        library.skyline_step_of(kind)

    optimizers.Optimizer.__init__ = begin_and_make
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
    sys.path[:] = [folder for folder in sys.path if os.path.abspath(folder or ".") != HERE]
    if "SKYLINE_RUN" not in os.environ:  # programs that this one starts are to run as ever
        leave_environment()
    library = ctypes.CDLL(None)
    if hasattr(library, "skyline_step_of"):
        sys.meta_path.insert(0, StepFinder(library))


begin()
run_users_own()
