#!/usr/bin/env python3
"""Compares Skyline's logits with PyTorch's on the same weights. Needs torch, torchvision, numpy and
safetensors.

    torch_logits.py numbers > torch_logits.inc     # what torch_logits_test.cpp expects
    torch_logits.py table BUILD/tests/train/model_logits [MODEL…]

`numbers` gives small networks weights by a formula, which the test computes, too. `table` writes
seeded random weights with PyTorch, reads them with Skyline, and prints the largest difference of the
logits; then the other way, weights that Skyline wrote in PyTorch. Differences are divided by the
largest logit.
"""

import pathlib
import subprocess
import sys
import tempfile

import numpy
import torch
from torch_networks import NETWORKS, SEQ2SEQ, Seq2Seq

CLASSES = 7


def fnv(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def uniform(name, count):
    """Numbers in [-1/2, 1/2) that depend on the name and their index."""
    x = (numpy.arange(count, dtype=numpy.uint64) + fnv(name) % 2**32).astype(numpy.uint32)
    x *= numpy.uint32(2654435761)
    x ^= x >> 15
    x *= numpy.uint32(2246822519)
    x ^= x >> 13
    return (x >> 8).astype(numpy.float64) / 2**24 - 0.5


def formula(name, shape):
    count = int(numpy.prod(shape, dtype=numpy.int64))
    base, scale = 0.0, 0.2  # biases, running means
    if len(shape) > 1:
        scale = numpy.sqrt(24 / numpy.prod(shape[1:]))
    elif name.endswith((".weight", "running_var")):
        base, scale = 1.0, 0.5
    values = (base + scale * uniform(name, count)).astype(numpy.float32)
    return torch.from_numpy(values.reshape(shape))


def fill(module):
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if tensor.dtype == torch.float32:
                tensor.copy_(formula(name, tuple(tensor.shape)))


def specs(module):
    lines = sorted(f"{name} {list(tensor.shape)}" for name, tensor in module.state_dict().items())
    return len(lines), fnv("".join(line + "\n" for line in lines))


def numbers():
    print("// Written by torch_logits.py: torch", torch.__version__)
    for name, (make, image, _) in NETWORKS.items():
        module = make(image, CLASSES).eval()
        fill(module)
        count, names = specs(module)
        with torch.no_grad():
            logits = module(formula("images", (1, *image)))[0]
        print(f'{{"{name}", {image[0]}, {image[1]}, {image[2]}, {count}, 0x{names:x}u,')
        print(" {" + ", ".join(f"{x:.7g}" for x in logits.tolist()) + "}},")
    module = Seq2Seq(**SEQ2SEQ).eval()
    fill(module)
    count, names = specs(module)
    with torch.no_grad():
        logits = module(torch.tensor([3, 14, 15, 9, 2]), torch.tensor([6, 5]))[-1]
    print(f'{{"seq2seq", 0, 0, 0, {count}, 0x{names:x}u,')
    print(" {" + ", ".join(f"{x:.7g}" for x in logits[:CLASSES].tolist()) + "}},")


def inputs(image):
    return {"images": torch.randn(2, *image)} if image else {
        "source": torch.tensor([3, 14, 15, 9, 2], dtype=torch.int32),
        "target": torch.tensor([6, 5], dtype=torch.int32)}


def skyline_logits(program, name, module, given, skyline_writes=False):
    """Gives Skyline the module's weights, or the module Skyline's. Returns Skyline's logits."""
    from safetensors.torch import load_file, save_file
    with tempfile.TemporaryDirectory() as top:
        weights, given_file, result = (str(pathlib.Path(top) / f"{part}.safetensors")
                                       for part in ("weights", "inputs", "logits"))
        save_file(given, given_file)
        if not skyline_writes:
            save_file(weights_of_inference(module), weights)
        subprocess.run([program, name, "write" if skyline_writes else "read", weights, given_file,
                        result], check=True)
        if skyline_writes:
            module.load_state_dict(load_file(weights), strict=True)
        return load_file(result)["logits"]


def weights_of_inference(module):
    """All but those of auxiliary heads, which only train."""
    return {name: tensor.contiguous() for name, tensor in module.state_dict().items()
            if not name.startswith(("loss1.", "loss2."))}


def largest_difference(logits, expected):
    return ((logits - expected).abs().max() / expected.abs().max()).item()


def difference(program, name, module, image, skyline_writes):
    given = inputs(image)
    logits = skyline_logits(program, name, module, given, skyline_writes)
    with torch.no_grad():
        expected = module(*(value if image else value.long() for value in given.values()))
    return largest_difference(logits, expected)


def table(program, wanted):
    print("| network | image | tensors | PyTorch wrote | Skyline wrote |\n|---|---|---|---|---|")
    cases = [(name, image, lambda make=make, image=image: make(image, 1000 if image[1] > 32 else 10))
             for name, (make, _, image) in NETWORKS.items()]
    cases.append(("seq2seq", None, lambda: Seq2Seq(**SEQ2SEQ)))
    for name, image, make in cases:
        if wanted and name not in wanted:
            continue
        torch.manual_seed(5)
        module = make().eval()
        randomize_statistics(module)
        read = difference(program, name, module, image, False)
        written = difference(program, name, module, image, True)
        size = " x ".join(map(str, image)) if image else "words"
        print(f"| `{name}` | {size} | {len(module.state_dict())} | {read:.1e} | {written:.1e} |",
              flush=True)


def randomize_statistics(module):
    """Running statistics and scales that are not 0 and 1, so that a wrong order shows."""
    with torch.no_grad():
        for name, tensor in module.state_dict().items():
            if name.endswith("running_mean"):
                tensor.normal_(0, 0.1)
            elif name.endswith("running_var") or (tensor.dim() == 1 and name.endswith("weight")):
                tensor.uniform_(0.75, 1.25)


if __name__ == "__main__":
    if sys.argv[1:2] == ["numbers"]:
        numbers()
    elif sys.argv[1:2] == ["table"] and len(sys.argv) > 2:
        table(sys.argv[2], sys.argv[3:])
    else:
        sys.exit(__doc__)
