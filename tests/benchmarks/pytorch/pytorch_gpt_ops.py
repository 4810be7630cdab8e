"""Times on the CPU what a layer of GPT has beside its linear layers in PyTorch, for kernels_benchmark.

The cases are kernels_benchmark's "gpt…": scaled_dot_product_attention from q, k and v side by side
to merged heads, layer_norm, and gelu in its tanh form, forward and backward, float32. Attention
takes the faster of its two kernels on the CPU. Prints a line an op: the milliseconds of the fastest
run of each.

    python3 pytorch_gpt_ops.py --threads 1 [--runs 50]
"""

import argparse
import time

import torch
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

CASES = {"gpt-small": (12, 64, 4, 32), "gpt2.64": (1, 64, 12, 64), "gpt2.1024": (4, 1024, 12, 64)}
LAYERS = {"gpt-small": (768, 128), "gpt2": (4096, 768)}  # words, channels


def least_ms(runs, call):
    least = float("inf")
    for _ in range(runs):
        start = time.perf_counter()
        call()
        least = min(least, time.perf_counter() - start)
    return least * 1e3


def times(runs, forward, inputs):
    """Returns the least milliseconds forward and backward."""
    y = forward()
    gradient = torch.randn_like(y)
    backward = least_ms(
        runs, lambda: torch.autograd.grad(y, inputs, gradient, retain_graph=True))
    return least_ms(runs, forward), backward


def attention(sequences, words, heads, size):
    channels = heads * size
    qkv = torch.randn(sequences, words, 3 * channels, requires_grad=True)

    def forward():
        q, k, v = (part.view(sequences, words, heads, size).transpose(1, 2)
                   for part in qkv.split(channels, 2))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return y.transpose(1, 2).reshape(sequences, words, channels)

    return forward, [qkv]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--runs", type=int, default=50)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    for name, case in CASES.items():
        both = []
        for kernel in (SDPBackend.FLASH_ATTENTION, SDPBackend.MATH):
            with sdpa_kernel(kernel):
                both.append(times(options.runs, *attention(*case)))
        print(f"{name} attention {min(b[0] for b in both):.3f} {min(b[1] for b in both):.3f}")
    for name, (words, channels) in LAYERS.items():
        x = torch.randn(words, channels, requires_grad=True)
        weight, bias = (torch.ones(channels, requires_grad=True) for _ in range(2))
        wide = torch.randn(words, 4 * channels, requires_grad=True)
        for op, forward, inputs in [
                ("layer_norm", lambda: functional.layer_norm(x, (channels,), weight, bias),
                 [x, weight, bias]),
                ("gelu", lambda: functional.gelu(wide, approximate="tanh"), [wide])]:
            forward_ms, backward_ms = times(options.runs, forward, inputs)
            print(f"{name} {op} {forward_ms:.3f} {backward_ms:.3f}")


if __name__ == "__main__":
    main()
