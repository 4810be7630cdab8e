"""Orders the training steps of torchvision's classifiers and of GPT-2 (124M): a row each of ops, MiB
in the program's and in the best sequence, the gap to the bound, resident memory included, and seconds.

    PYTHONPATH=BUILD/memory/python python3 pytorch_orders.py [NAME ...] [--batch 1 8 32]

GPT-2 has 64 tokens a text, and its loss inside. Below: how many are proved, and the greatest gap and
seconds of those with up to 2,000 ops.
"""

import argparse
import warnings

import skyline
import torch
import torchvision
from torch import nn
from torch.nn import functional
from skyline.pytorch import step_graph_of

TOKENS, WORDS, WIDTH, BLOCKS, HEADS = 64, 50304, 768, 12, 12
FEW_OPS = 2000


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(2))
        self.attention, self.projection = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        parts = self.attention(self.norms[0](x)).split(WIDTH, -1)
        heads = (part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in parts)
        attended = functional.scaled_dot_product_attention(*heads, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norms[1](x)), approximate="tanh"))


class GPT2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(WORDS, WIDTH), nn.Embedding(1024, WIDTH)
        self.blocks = nn.Sequential(*[Block() for _ in range(BLOCKS)])
        self.norm = nn.LayerNorm(WIDTH)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1]))
        logits = functional.linear(self.norm(self.blocks(x)), self.wte.weight)
        return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def graph_of(name, batch):
    if name == "gpt2":
        return step_graph_of(GPT2(), torch.zeros(batch, TOKENS, dtype=torch.long),
                             loss=lambda loss: loss)
    options = {"init_weights": False} if name in ("googlenet", "inception_v3") else {}
    size = 299 if name == "inception_v3" else 224
    return step_graph_of(torchvision.models.get_model(name, **options),
                         torch.zeros(batch, 3, size, size))


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.names or ["gpt2", *torchvision.models.list_models(torchvision.models)]
    steps = proved = 0
    worst_gap = worst_seconds = 0.0
    print(f"{'step':28}{'ops':>6}{'program':>10}{'best':>10}{'gap':>9}{'seconds':>9}")
    for name in names:
        for batch in options.batch:
            try:
                graph = graph_of(name, batch)
            except ValueError as error:  # Inception has no statistics of one image
                print(f"{name} {batch}: {error}")
                continue
            found = skyline.order(graph)
            gap = (found.peak - found.lower_bound) / (found.lower_bound + found.resident_bytes)
            program, best = ((peak + found.resident_bytes) / 2**20
                             for peak in (found.program_peak, found.peak))
            print(f"{name + ' ' + str(batch):28}{len(graph.ops):6}{program:10.1f}{best:10.1f}"
                  f"{gap:9.3%}{found.seconds:9.3f}", flush=True)
            steps, proved = steps + 1, proved + found.proved_optimal
            if len(graph.ops) <= FEW_OPS:
                worst_gap, worst_seconds = max(worst_gap, gap), max(worst_seconds, found.seconds)
    print(f"{proved} of {steps} proved; up to {FEW_OPS} ops: gap at most {worst_gap:.3%}, "
          f"{worst_seconds:.2f} s")


if __name__ == "__main__":
    main()
