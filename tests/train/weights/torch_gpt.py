#!/usr/bin/env python3
"""Compares Skyline's GPT with PyTorch's: logits, gradients and steps of AdamW on the same weights.
Needs torch and numpy, `steps` safetensors, too.

    torch_gpt.py numbers > torch_gpt.inc      # what torch_gpt_test.cpp expects of small networks
    torch_gpt.py gradients FOLDER WORDS POSITIONS LAYERS HEADS UNITS BIASES WINDOWS LENGTH
    torch_gpt.py steps SKYLINE TEXT [STEPS]   # trains gpt-small with both; prints the losses' difference

`gradients` writes the loss and each gradient to a file of floats, for torch_gpt_test.cpp, too.
`steps` writes random weights, which `skyline train --init-weights` reads, and draws the same windows
of the text.
"""

import json
import math
import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from torch_logits import fill, formula, fnv, specs, uniform
from torch_networks import GPT_SMALL, Gpt

SMALL = {"words": 30, "positions": 12, "layers": 2, "heads": 2, "units": 16}
WINDOWS, LENGTH, STEPS, WARM_UP, RATE = 3, 10, 10, 4, 0.01


def rate_of(step, steps, warm_up, rate):
    """Warm-up, then a cosine to a tenth."""
    done = max(step - warm_up, 0) / (steps - warm_up)
    value = rate * (0.1 + 0.9 * (1 + math.cos(math.pi * done)) / 2)
    return value if step >= warm_up else value * (step + 1) / warm_up


def train_step(module, optimizer, rate, words, answers):
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.zero_grad()
    loss = module.loss(words, answers)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
    optimizer.step()
    return loss.item()


def listed(numbers):
    return "{" + ", ".join(f"{x:.9g}" for x in numbers) + "}"


def formula_windows(words, windows, length):
    stream = torch.from_numpy(((uniform("words", windows * length + 1) + 0.5) *
                               words).astype(numpy.int64))
    return (part.reshape(windows, length) for part in (stream[:-1], stream[1:]))


def gradients(folder, words, positions, layers, heads, units, biases, windows, length):
    module = Gpt(words, positions, layers, heads, units, bool(biases))
    fill(module)
    loss = module.loss(*formula_windows(words, windows, length))
    loss.backward()
    loss.detach().numpy().tofile(f"{folder}/loss")
    for name, parameter in module.named_parameters():
        parameter.grad.numpy().tofile(f"{folder}/{name}")


def numbers():
    print("// Written by torch_gpt.py: torch", torch.__version__)
    words, answers = formula_windows(SMALL["words"], WINDOWS, LENGTH)
    for bias in (False, True):
        module = Gpt(**SMALL, bias=bias)
        fill(module)
        count, names = specs(module)
        loss = module.loss(words, answers)
        loss.backward()
        print(f"{{{str(bias).lower()}, {count}, 0x{names:x}u,")
        print(" " + listed(module(words)[-1, -1, :7].tolist()) + f", {loss.item():.9g}f, {{")
        for name, parameter in module.named_parameters():
            gradient = parameter.grad.double().flatten()
            dots = [(gradient @ torch.from_numpy(uniform(f"{name}.{k}", gradient.numel()))).item()
                    for k in range(3)]
            print(f'  {{"{name}", {gradient.norm().item():.9g}, {listed(dots)}}},')
        optimizer = module.adamw(RATE, 0.99, 0.1)
        losses = [train_step(module, optimizer, rate_of(step, STEPS, WARM_UP, RATE), words, answers)
                  for step in range(STEPS)]
        print(" }, " + listed(losses) + "},")


def philox(seed, stream, counter):
    """Philox4x32-10 of Salmon et al. 2011, as framework/philox.h."""
    x = [counter & 0xFFFFFFFF, counter >> 32, stream & 0xFFFFFFFF, stream >> 32]
    key = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        products = 0xD2511F53 * x[0], 0xCD9E8D57 * x[2]
        x = [products[1] >> 32 ^ x[1] ^ key[0], products[1] & 0xFFFFFFFF,
             products[0] >> 32 ^ x[3] ^ key[1], products[0] & 0xFFFFFFFF]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return x


def windows(text, length, batch, number, seed=0):
    """Batch `number` of a run, as WindowLoader draws it."""
    starts = []
    for i in range(batch):
        high, low, *_ = philox(seed, 0x8000000000000009, number * batch + i)
        starts.append(((high << 32 | low) * (len(text) - length)) >> 64)
    return (torch.stack([text[s + shift:s + shift + length] for s in starts]) for shift in (0, 1))


def steps(program, file, count):
    from safetensors.torch import save_file
    content = pathlib.Path(file).read_text()
    numbers_of = {c: i for i, c in enumerate(sorted(set(content)))}
    text = torch.tensor([numbers_of[c] for c in content[:len(content) * 9 // 10]])
    torch.manual_seed(5)
    module = Gpt(**{**GPT_SMALL, "words": len(numbers_of)})
    with tempfile.TemporaryDirectory() as top:
        weights = f"{top}/weights.safetensors"
        state = {"transformer." + name: tensor for name, tensor in module.state_dict().items()}
        state["lm_head.weight"] = module.wte.weight.detach().clone()
        save_file(state, weights)
        subprocess.run([program, "train", "--model", "gpt-small", "--data", file, "--batch-size",
                        "12", "--steps", str(count), "--init-weights", weights, "--out",
                        f"{top}/run", "--quiet", "--json"], check=True, stdout=subprocess.DEVNULL)
        with open(f"{top}/run/log.jsonl") as log:
            found = [json.loads(line)["loss"] for line in log]
    optimizer = module.adamw(1e-3, 0.99, 0.1)
    expected = [train_step(module, optimizer, rate_of(step, count, 100, 1e-3),
                           *windows(text, 64, 12, step)) for step in range(count)]
    differences = [abs(a - b) for a, b in zip(found, expected, strict=True)]
    print(f"{count} steps: losses {found[0]:.4f} to {found[-1]:.4f}; the largest difference from "
          f"PyTorch's is {max(differences):.1e}, that of step 1 {differences[0]:.1e}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["numbers"]:
        numbers()
    elif sys.argv[1:2] == ["gradients"] and len(sys.argv) == 11:
        gradients(sys.argv[2], *map(int, sys.argv[3:]))
    elif sys.argv[1:2] == ["steps"] and len(sys.argv) > 3:
        steps(sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 200)
    else:
        sys.exit(__doc__)
