"""Shows what PyTorch's activation_memory_budget costs, and ours beside it at the same bytes.

    python3 pytorch_budget.py --ours build/release/train/skyline [MODEL ...] [--batch B] [--steps N]
                              [--budgets 0.66,0.53,...]

PyTorch's step is compiled once a budget, with its partitioner, which chooses what to recompute,
and eager kernels ("aot_eager_decomp_partition"), so that only the choice differs. Networks, loss and
optimizer are those of pytorch_step.py; sentences have 30 words. Its bytes are those of storages that its CPU allocator has
handed out, at the step's peak, with parameters, gradients and the optimizer's state; "of all" divides them by
the bytes at budget 1. Steps with and without a budget take turns; "longer by" compares the medians.
Ours is the budget of a dry run at the same share of the bytes that our step takes without one:
longer by (at least), as budget.py explains; "–" where no step fits. Rows in which PyTorch saves less
than 1 % of the bytes are named below the table instead.
"""

import argparse
import gc
import json
import statistics
import subprocess
import time

import torch
import torch._functorch.config as functorch
from torch.nn import functional
from torch.nn.utils.rnn import pack_sequence
from torch.profiler import ProfilerActivity, profile

from pytorch_networks import NETWORKS, Seq2Seq

BACKEND = "aot_eager_decomp_partition"
PIECE = 4096  # bytes: our budgets are whole pages
TEXT = "seq2seq"
WORDS = 30  # of a sentence, as in a dry run
OUR_FLAGS = {TEXT: ["--units", "1024", "--layers", "3", "--clip", "0"]}  # Seq2Seq's sizes


def profiled_peak(run):
    """Returns the most bytes that a call takes from PyTorch's allocator beside those it began with."""
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
        run()
    now = peak = 0
    changes = [event for event in seen.profiler.kineto_results.events() if event.name() == "[memory]"]
    for event in sorted(changes, key=lambda event: event.start_ns()):
        now += event.nbytes()
        peak = max(peak, now)
    return peak


class Step:
    """A compiled training step under one budget."""

    def __init__(self, model, batch, budget):
        torch._dynamo.reset()
        torch.manual_seed(1)
        self.prepare(model, batch)
        self.loss = torch.compile(self.loss_of, backend=BACKEND, dynamic=False)
        with functorch.patch(activation_memory_budget=budget):
            self.run()  # compiles
        self.run()  # makes the momentum

    def prepare(self, model, batch):
        maker, extent = NETWORKS[model]
        self.network = maker()
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)
        self.inputs = (torch.rand(batch, 3, extent, extent) * 2 - 1, torch.arange(batch) * 7 % 1000)
        # Beside parameters and gradients: momentum, which no step frees.
        self.states = 1

    def loss_of(self, images, labels):
        output = self.network(images)
        heads = output if isinstance(output, tuple) else (output,)
        losses = [functional.cross_entropy(head, labels) for head in heads]
        return losses[0] if len(losses) == 1 else losses[0] + 0.3 * sum(losses[1:])

    def run(self):
        """Returns the seconds of one step."""
        start = time.perf_counter()
        self.optimizer.zero_grad()
        self.loss(*self.inputs).backward()
        self.optimizer.step()
        return time.perf_counter() - start

    def bytes(self):
        """The most bytes of a step, resident ones included."""
        self.optimizer.zero_grad()
        parameters = sum(parameter.nbytes for parameter in self.network.parameters())
        resident = self.input_bytes() + (1 + self.states) * parameters
        return resident + profiled_peak(self.run)

    def input_bytes(self):
        return self.inputs[0].nbytes


class TranslationStep(Step):
    """The same for text, with Adam: sentences of WORDS words. PyTorch compiles no LSTM of packed
    sentences, so only the output layer and the loss are compiled."""

    def prepare(self, model, batch):
        self.network = Seq2Seq()
        self.network.decoded = torch.compiler.disable(self.network.decoded)
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.inputs = tuple(pack_sequence([torch.randint(Seq2Seq.WORDS, (WORDS,))
                                           for _ in range(batch)]) for _ in range(2))
        self.states = 2
        self.batch = batch

    def loss_of(self, source, target):
        logits = self.network(source, target)
        return functional.cross_entropy(logits, target.data, reduction="sum") / self.batch

    def input_bytes(self):
        return 0  # a word is a number


def step_of(model, batch, budget):
    return (TranslationStep if model == TEXT else Step)(model, batch, budget)


def mib(size):
    return f"{size / 2**20:.0f} MiB"


def ours(program, model, batch, share):
    """Our dry run at a share of its bytes: bytes and "longer by (at least)"; "–" if no step fits."""
    ask = [program, "dry-run", "--model", model, "--batch-size", str(batch), "--allocators",
           "planned", *OUR_FLAGS.get(model, []), "--json", "--memory"]
    whole = json.loads(subprocess.run([*ask, "1024GiB"], check=True, capture_output=True).stdout)
    budget = int(whole["budget"]["reserved_without"] * share) // PIECE * PIECE
    done = subprocess.run([*ask, f"{budget}B"], capture_output=True, text=True)
    if done.returncode == 2 and "do not suffice" in done.stderr:
        return "– | –"
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    answer = json.loads(done.stdout)["budget"]
    return f"{mib(answer['reserved'])} | {100 * answer['overhead']:.1f} ({100 * answer['bound']:.1f}) %"


def compare(given, model, unchanged):
    """Prints a row a budget; appends those in which PyTorch saves nothing to `unchanged`."""
    everything = step_of(model, given.batch, 1.0)
    all_bytes = everything.bytes()
    for budget in map(float, given.budgets.split(",")):
        step = step_of(model, given.batch, budget)
        size = step.bytes()
        share = size / all_bytes
        if share > 0.99:
            unchanged.append(f"{model} at {budget:.2f} ({100 * share:.0f} %)")
        else:
            seconds = {True: [], False: []}
            for _ in range(given.steps):
                seconds[True].append(step.run())
                seconds[False].append(everything.run())
            longer = statistics.median(seconds[True]) / statistics.median(seconds[False]) - 1
            print(f"| {model}, {given.batch} | {budget:.2f} | {mib(size)} | {100 * share:.0f} % | "
                  f"{100 * longer:+.1f} % | {ours(given.ours, model, given.batch, share)} |", flush=True)
        del step
        gc.collect()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[[], *NETWORKS, TEXT])
    parser.add_argument("--ours", required=True, help="the program skyline")
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--budgets", default="0.66,0.53,0.4,0.33,0.2,0.1")
    given = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {BACKEND}")
    print("| network, batch | budget | PyTorch | of all | longer by | ours, at that share | "
          "longer by (at least) |")
    print("|---|---|---|---|---|---|---|")
    unchanged = []
    for model in given.models or [*NETWORKS, TEXT]:
        compare(given, model, unchanged)
    if unchanged:
        print(f"\nPyTorch saves nothing: {', '.join(unchanged)} of all bytes")


if __name__ == "__main__":
    main()
