"""Times skyline.pytorch.within beside torch.utils.checkpoint and PyTorch's activation_memory_budget.

    LD_PRELOAD=libtcmalloc_minimal.so.4 PYTHONPATH=build/release/memory/python
        python3 pytorch_within.py [--words T] [--batch B] [--shares 0.75,0.5,0.35] [--steps N]
        [--blocks N] [--no-compiler]

The network has GPT-2's sizes (124M), with a head of its own: where it is tied, the sum of its two
gradients needs more than a short text's activations. Gradients stay from step to step, as where some
steps add up. A share is of the activations, the bytes that backward reads: budget = bytes of a step that
keeps all - (1 - share) * activations. Bytes of rivals are those of PyTorch's allocator (the profiler's);
`within` shows both, foreseen and by the profiler. Each rival is asked for the fastest setting within the
budget: checkpoint for as few blocks as possible, PyTorch's budget for the largest value of a few; that
is compiled with eager kernels ("aot_eager_decomp_partition"), so that only the choice differs. Steps take
turns; the fastest one of each counts. Without tcmalloc (Debian's libtcmalloc-minimal4), which tuning
guides advise, a quarter of a step is page faults, whose time nothing foresees.
"""

import argparse
import contextlib
import pathlib
import sys
import time

import torch
import torch._functorch.config as functorch
from torch.utils.checkpoint import checkpoint

from pytorch_budget import BACKEND, profiled_peak
from skyline.pytorch import within

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "memory/python"))
from within_test import Gpt, Loss

VALUES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0)  # of activation_memory_budget


def network(blocks):
    torch.manual_seed(1)
    gpt = Gpt(tied=False, blocks=blocks, width=768, words=50257, heads=12, places=1024)
    return Loss(gpt)


class Checkpointed(torch.nn.Module):
    """A block that keeps its input alone."""

    def __init__(self, block):
        super().__init__()
        self.block = block

    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=False)


class Step:
    def __init__(self, module, words, context=None):
        self.module, self.inputs = module, (words, words.roll(-1))
        self.context = context or contextlib.nullcontext()

    def run(self):
        for parameter in self.module.parameters():
            if parameter.grad is not None:
                parameter.grad.zero_()
        start = time.perf_counter()
        self.module(*self.inputs).backward()
        return time.perf_counter() - start

    def fastest(self, *others, steps):
        """Returns the least seconds of this step and of others, which take turns with it."""
        seconds = [[] for _ in range(1 + len(others))]
        for _ in range(steps):
            for step, taken in zip((self, *others), seconds):
                with step.context:
                    taken.append(step.run())
        return [min(taken) for taken in seconds]

    def bytes(self):
        with self.context:
            self.run()
            return profiled_peak(self.run)


def planned(module, words, bytes):
    """Returns a context of steps whose gradients are there before."""
    step = Step(module, words)
    context = within(module, bytes, inputs=step.inputs, accumulates=True)
    return Step(module, words, context)


def checkpointed(blocks, words, budget):
    """Returns the step with the fewest checkpointed blocks that stays within the budget, and its bytes."""
    for count in range(1, blocks + 1):
        module = network(blocks)
        layers = module.module.blocks
        for i in range(count):
            layers[i] = Checkpointed(layers[i])
        step = Step(module, words)
        step.run()
        bytes = step.bytes()
        if bytes <= budget:
            return step, bytes, f"{count} of {blocks} blocks"
    return None, None, "no number of blocks"


def compiled(blocks, words, budget):
    for value in VALUES:
        torch._dynamo.reset()
        module = network(blocks)
        step = Step(module, words)
        step.module = torch.compile(module, backend=BACKEND, dynamic=False)
        with functorch.patch(activation_memory_budget=value):
            step.run()
        bytes = step.bytes()
        if bytes <= budget:
            return step, bytes, f"at {value}"
    return None, None, "no value"


def mib(bytes):
    return f"{bytes / 2**20:.1f} MiB"


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--words", type=int, default=256)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument("--shares", default="0.75,0.5,0.35")
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--no-compiler", action="store_true", help="leave out PyTorch's budget")
    given = parser.parse_args()
    words = torch.randint(50257, (given.batch, given.words))
    eager = Step(network(given.blocks), words)
    eager.run()
    full = planned(eager.module, words, 2**50)
    plain, hooked = eager.fastest(full, steps=given.steps)
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads: {given.batch} x "
          f"{given.words}, {mib(full.context.all_kept)} a step, of which activations "
          f"{mib(full.context.activations)}; {plain:.3f} s (foreseen "
          f"{full.context.step_seconds:.3f} s); with hooks {100 * (hooked / plain - 1):+.1f} %", flush=True)
    print("| share | | bytes | by the profiler | seconds | longer | foreseen, at least |")
    print("|---|---|---|---|---|---|---|")
    for share in map(float, given.shares.split(",")):
        context = full.context
        budget = int(context.all_kept - (1 - share) * context.activations)
        try:
            ours = planned(eager.module, words, budget)
        except ValueError as error:
            print(f"| {share} | within: {error} | – | – | – | – | – |", flush=True)
            continue
        plain, taken = eager.fastest(ours, steps=given.steps)
        plan = ours.context
        base = plan.step_seconds - plan.extra_seconds - plan.hook_seconds
        print(f"| {share} | within | {mib(plan.planned)}, taken {mib(plan.taken)} | "
              f"{mib(ours.bytes())} | {taken:.3f} (foreseen {plan.step_seconds:.3f}) | "
              f"{100 * (taken / plain - 1):+.1f} % | {100 * (plan.step_seconds / base - 1):.1f}, "
              f"{100 * (plan.hook_seconds + plan.least_extra_seconds) / base:.1f} % |", flush=True)
        rivals = [checkpointed] if given.no_compiler else [checkpointed, compiled]
        for rival in rivals:
            step, bytes, setting = rival(given.blocks, words, budget)
            if step is None:
                print(f"| {share} | {rival.__name__}: {setting} | – | – | – | – | – |", flush=True)
                continue
            plain, taken = eager.fastest(step, steps=given.steps)
            print(f"| {share} | {rival.__name__} {setting} | – | {mib(bytes)} | {taken:.3f} | "
                  f"{100 * (taken / plain - 1):+.1f} % | – |", flush=True)


if __name__ == "__main__":
    main()
