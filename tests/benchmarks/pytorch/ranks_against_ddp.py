"""Trains on two processes in turns: our ranks, and PyTorch's DistributedDataParallel with Gloo.

    python3 ranks_against_ddp.py --ours build/release/train/skyline [MODEL ...] [--turns N]

Both sides have two processes of one thread each, the same networks, batch (of each process), loss
and optimizer in float32; the numbers of parameters are compared. Networks and data of ours are
those of ../ranks.py, in both of its orders. Images are 10 classes of random pixels in PyTorch,
generated shapes in ours, which loads them in every step; sentences are as long. PyTorch's gradients
are views of its buckets (gradient_as_bucket_view), which spares it a copy of them. Milliseconds are
medians of a run's steps after the first two, then of the turns; the ratio of each turn is PyTorch's
to ours: above 1, ours is faster or smaller. MiB are the peak of a process's resident set, the
larger of the two processes, and in brackets what programs and libraries take of it: PyTorch's
process connected to the other one, before it has a network. The last ratio is without them.
"""

import argparse
import datetime
import itertools
import json
import os
import pathlib
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import ranks

WARM_UP = 2
# Runs a command and writes the peak of its resident set to a file of this rank.
MEASURED = """
import os, resource, subprocess, sys
code = subprocess.call(sys.argv[2:])
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
open(sys.argv[1] + os.environ["OMPI_COMM_WORLD_RANK"], "w").write(str(peak))
sys.exit(code)
"""


class Step:
    """A network of one process in training."""

    def __init__(self, model):
        import torch
        from torch.nn.parallel import DistributedDataParallel

        network, optimizer, self.inputs, self.loss_of = maker(model)()
        self.parameters = sum(parameter.numel() for parameter in network.parameters())
        self.network = DistributedDataParallel(network, gradient_as_bucket_view=True)
        self.optimizer = optimizer(self.network.parameters())
        self.torch = torch

    def run(self):
        start = time.perf_counter()
        self.optimizer.zero_grad()
        loss = self.loss_of(self.network(*self.inputs))
        loss.item()
        loss.backward()
        self.optimizer.step()
        return time.perf_counter() - start


def maker(model):
    """Returns a function that makes (network, optimizer, inputs, loss of the network's output)."""
    return translation if model == "seq2seq" else lambda: images(model)


def images(model):
    import torch
    from torch.nn import functional
    from pytorch_networks import torch_networks

    def loss(output):
        heads = output if isinstance(output, tuple) else (output,)
        losses = [functional.cross_entropy(head, labels) for head in heads]
        return losses[0] + 0.3 * sum(losses[1:])

    make, _, image = torch_networks.NETWORKS[model]
    more = {}
    if model == "googlenet":
        image, more = (3, ranks.INSIZE, ranks.INSIZE), {"heads": True}
    labels = torch.arange(ranks.BATCH) % ranks.CLASSES
    sgd = lambda parameters: torch.optim.SGD(parameters, lr=0.01, momentum=0.9)
    return make(image, ranks.CLASSES, **more), sgd, [torch.rand(ranks.BATCH, *image)], loss


def translation():
    import torch
    from torch.nn import functional
    from torch.nn.utils.rnn import pack_sequence
    from pytorch_networks import Seq2Seq

    words = ranks.WORDS + ranks.SPECIAL_WORDS
    source, target = (pack_sequence([torch.randint(words, (length,)) for _ in range(ranks.BATCH)])
                      for length in (ranks.SENTENCE_WORDS, ranks.SENTENCE_WORDS + 1))  # its end
    loss = lambda logits: (functional.cross_entropy(logits, target.data, reduction="sum")
                           / ranks.BATCH)
    return Seq2Seq(words, ranks.UNITS), torch.optim.Adam, [source, target], loss


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def be_worker(rank, port, model):
    """Trains as one of PyTorch's processes; rank 0 prints the figures of both."""
    import torch
    from torch import distributed

    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank,
                                   world_size=ranks.RANKS, timeout=datetime.timedelta(seconds=300))
    distributed.all_reduce(torch.zeros(1))
    import pytorch_networks  # libraries belong to the program
    before = peak_mib()
    step = Step(model)
    seconds = [step.run() for _ in range(ranks.STEPS[model])]
    figures = [None] * ranks.RANKS
    distributed.all_gather_object(figures, (before, peak_mib()))
    if rank == 0:
        print(json.dumps({"ms": 1e3 * statistics.median(seconds[WARM_UP:]),
                          "before": max(before for before, _ in figures),
                          "peak": max(peak for _, peak in figures),
                          "parameters": step.parameters}))
    distributed.destroy_process_group()


def free_port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def theirs(model):
    port = str(free_port())
    workers = [subprocess.Popen([sys.executable, __file__, "--worker", str(rank), port, model],
                                stdout=subprocess.PIPE, text=True) for rank in range(ranks.RANKS)]
    outputs = [worker.communicate()[0] for worker in workers]
    if any(worker.returncode for worker in workers):
        sys.exit(f"PyTorch's step of {model} failed")
    return json.loads(outputs[0])


def measured(command, folder):
    """Runs a command as two ranks; returns rank 0's JSON and the larger peak in MiB."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    run = subprocess.run(["mpirun", *root, "--oversubscribe", "--bind-to", "none", "-n",
                          str(ranks.RANKS), sys.executable, "-S", "-c", MEASURED,
                          str(folder / "peak"), *command], stdout=subprocess.PIPE, text=True,
                         check=False)
    if run.returncode:
        sys.exit(f"{' '.join(command)} failed")
    peaks = [int((folder / f"peak{rank}").read_text()) / 1024 for rank in range(ranks.RANKS)]
    return json.loads(run.stdout), max(peaks)


def ours(program, model, order, folder):
    answer, peak = measured(ranks.training(program, model, folder, order), folder)
    return {"ms": 1e3 * answer["step_seconds_median"], "peak": peak,
            "before": answer["process"]["resident_set_of"]["program_and_libraries"] / 2**20}


def our_parameters(program, model):
    words = ["--vocab-size", str(ranks.WORDS + ranks.SPECIAL_WORDS)] if model == "seq2seq" else []
    return ranks.answer([program, "dry-run", "--model", model, *ranks.NETWORKS[model], *words,
                         "--allocators", "planned", "--json"])["parameters"]


def compare(program, model, turns, folder):
    """Yields a row for each order of ours."""
    runs = {name: [] for name in ("optimal", "program", "theirs")}
    for _ in range(turns):
        for name, figures in runs.items():
            figures.append(theirs(model) if name == "theirs" else
                           ours(program, model, name, folder))
    counts = runs["theirs"][0]["parameters"], our_parameters(program, model)
    if counts[0] != counts[1]:
        sys.exit(f"{model} has {counts[0]} parameters in PyTorch, ours {counts[1]}")
    for figures in itertools.chain(*runs.values()):
        figures["own"] = figures["peak"] - figures["before"]
    middle = lambda name, key: statistics.median(run[key] for run in runs[name])
    for order in ("optimal", "program"):
        ratio = lambda key: statistics.median(
            its[key] / our[key] for its, our in zip(runs["theirs"], runs[order]))
        both = (order, "theirs")
        yield [model, order, *(f"{middle(name, 'ms'):.2f}" for name in both), f"{ratio('ms'):.2f}",
               *(f"{middle(name, 'peak'):.0f} ({middle(name, 'before'):.0f})" for name in both),
               f"{ratio('peak'):.1f}", f"{ratio('own'):.1f}"]


def main():
    if sys.argv[1:2] == ["--worker"]:
        return be_worker(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--ours", required=True, help="the program skyline")
    parser.add_argument("--turns", type=int, default=3)
    arguments = parser.parse_args()
    for model in arguments.models:
        if model not in ranks.NETWORKS:
            parser.error(f"unknown model {model}, expected one of {', '.join(ranks.NETWORKS)}")
    header = ["network", "order", "ours ms", "DDP ms", "ratio", "ours MiB", "DDP MiB", "ratio",
              "without programs"]
    print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        for model in arguments.models or ranks.NETWORKS:
            for cells in compare(arguments.ours, model, arguments.turns, pathlib.Path(folder)):
                print("| " + " | ".join(cells) + " |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
