"""Compares the live bytes of a PyTorch training step with the bytes that our plan reserves.

    python3 pytorch_memory.py --ours build/release/train/skyline [MODEL ...] [--batches B,...]
                              [--with="--recompute 4" ...] [--device cuda --engines FILE]

No card is needed. PyTorch's step runs on its "meta" device, which keeps shapes but no bytes. Every
storage counts while it lives, rounded up to 512 bytes as in the caching allocator. On a card
PyTorch reserves more: fragmentation and cuDNN's workspaces, which our figures include. Networks,
loss and optimizer are those of pytorch_step.py. Our figures come from dry runs for the CPU's
kernels or, with the engines.json of a run on a card, for that card's. All figures are MiB and
include parameters, gradients and momentum. "below" says how far our figure is below PyTorch's, for
each set of flags.
"""

import argparse
import json
import subprocess
import weakref

import torch
from torch.nn import functional
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from pytorch_networks import NETWORKS

ROUNDING = 512
STEPS = 2  # only the second step has momentum and frees the gradients of a step before


class LiveBytes(TorchDispatchMode):
    """Sums the bytes of live storages that ops have made."""

    def __init__(self):
        super().__init__()
        self.now = self.peak = 0
        self.alive = {}

    def __torch_dispatch__(self, function, types, arguments=(), keywords=None):
        results = function(*arguments, **(keywords or {}))
        for tensor in tree_leaves(results):
            if isinstance(tensor, torch.Tensor) and tensor.device.type == "meta":
                self.count(tensor.untyped_storage())
        return results

    def count(self, storage):
        key = storage._cdata
        if key in self.alive:
            return
        self.alive[key] = -(-storage.nbytes() // ROUNDING) * ROUNDING
        self.now += self.alive[key]
        self.peak = max(self.peak, self.now)
        weakref.finalize(storage, self.forget, key)

    def forget(self, key):
        self.now -= self.alive.pop(key, 0)


def training_step(network, optimizer, images, labels):
    optimizer.zero_grad()
    output = network(images.to("meta"))
    labels = labels.to("meta")
    heads = output if isinstance(output, tuple) else (output,)
    losses = [functional.cross_entropy(head, labels) for head in heads]
    loss = losses[0] if len(losses) == 1 else losses[0] + 0.3 * sum(losses[1:])
    del output, heads, losses
    loss.backward()
    optimizer.step()


def theirs(model, batch):
    maker, extent = NETWORKS[model]
    with LiveBytes() as live, torch.device("meta"):
        network = maker()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01, momentum=0.9)
        images = torch.empty(batch, 3, extent, extent, device="cpu")
        labels = torch.empty(batch, dtype=torch.int64, device="cpu")
        for _ in range(STEPS):
            live.peak = live.now
            training_step(network, optimizer, images, labels)
    return live.peak


def ours(arguments, model, batch, flags):
    command = [arguments.ours, "dry-run", "--model", model, "--batch-size", str(batch),
               "--allocators", "planned", "--json", "--device", arguments.device] + flags.split()
    if arguments.device == "cuda":  # PyTorch's step has one batch on the device, too
        command += ["--no-prefetch"]
    if arguments.engines:
        command += ["--engines", arguments.engines]
    answer = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return answer["resident_bytes"] + answer["peak"]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--ours", required=True, help="the program skyline")
    parser.add_argument("--batches", default="32,64,128")
    parser.add_argument("--with", dest="flags", action="append",
                        help="flags for dry-run; may be repeated")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--engines", help="engines.json of a run on a card")
    arguments = parser.parse_args()
    unknown = [model for model in arguments.models if model not in NETWORKS]
    if unknown:
        parser.error(f"unknown model {unknown[0]}, expected one of {', '.join(NETWORKS)}")
    ways = arguments.flags or ["", "--recompute 4 --fused-update"]
    print(f"PyTorch {torch.__version__}")
    for i, flags in enumerate(ways):
        print(f"ours {i + 1}: skyline dry-run {flags}")
    print(f"{'network':18}{'batch':>6}{'PyTorch':>10}" +
          "".join(f"{f'ours {i + 1}':>10}{'below':>8}" for i in range(len(ways))))
    for model in arguments.models or NETWORKS:
        for batch in map(int, arguments.batches.split(",")):
            their_bytes = theirs(model, batch)
            row = f"{model:18}{batch:6}{their_bytes / 2**20:10.1f}"
            for flags in ways:
                our_bytes = ours(arguments, model, batch, flags)
                row += f"{our_bytes / 2**20:10.1f}{100 - 100 * our_bytes / their_bytes:6.1f} %"
            print(row, flush=True)


if __name__ == "__main__":
    main()
