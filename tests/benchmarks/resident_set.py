#!/usr/bin/env python3
"""Compares the resident set of `skyline train` with the bytes that it reserves, for every model:

    python3 tests/benchmarks/resident_set.py [MODEL ...] [--batch-size 16] [--build build/release]

Each run has two epochs of three steps, each with a checkpoint before and after its evaluation, on
images that are drawn for it (PNG files; generated ones for mlp, lenet, resnet20; numbers for
seq2seq). Prints two pairs of peaks, of the whole run and after the switch to the plan, in MiB, and
what the resident set at the end consists of, for models whose resident set is above 98 % of its
target then, and one line for the others. Exits 1 if a peak is above its target, 1.02 times the
reserved peak + 48 MiB. Needs Linux: the kernel keeps the peaks (VmHWM), and is told to begin anew at
the switch (/proc/PID/clear_refs).
"""

import argparse
import json
import os
import pathlib
import random
import re
import struct
import subprocess
import sys
import tempfile
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
GENERATED = ["mlp", "lenet", "resnet20"]
FILES = ["mobilenet_v2", "alexnet", "googlenet", "resnet18", "resnet50", "inception-resnet-figure",
         "inception-resnet", "vgg16"]
MODELS = [*GENERATED, *FILES, "seq2seq"]
STEPS = 3  # an epoch
MIB = 2**20


def png(width, height):
    def chunk(kind, data):
        return (struct.pack(">I", len(data)) + kind + data +
                struct.pack(">I", zlib.crc32(kind + data)))
    rows = b"".join(b"\0" + random.randbytes(3 * width) for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 1)) +
            chunk(b"IEND", b""))


def draw_images(folder, batch_size):
    """Two classes; STEPS batches to train on and one and a half to evaluate."""
    image = png(400, 320)
    for split, count in (("train", STEPS * batch_size), ("val", batch_size * 3 // 2)):
        for index in range(count):
            path = folder / split / f"class{index % 2}" / f"{index}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(image)


def data_of(model, folder, batch_size):
    if model == "seq2seq":
        return ["--data", "numbers", "--pairs", STEPS * batch_size, "--val-pairs", batch_size]
    if model in GENERATED:
        return ["--data", "shapes", "--images", STEPS * batch_size]
    return ["--data", folder, "--classes", 1000]


def peak_of(process):
    """The largest resident set since the program began, or since the last call of restart_peak()."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


def restart_peak(process):
    pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5", encoding="ascii")


def trained(program, model, options, folder):
    """Returns the run's JSON and its peaks, before and after the switch."""
    command = [program, "train", "--model", model, "--batch-size", options.batch_size, "--epochs", 2,
               "--json", "--out", folder / f"run-{model}",
               *data_of(model, folder / "images", options.batch_size)]
    with open(folder / "output", "w+", encoding="utf-8") as output:
        process = subprocess.Popen([str(word) for word in command], stdout=output,
                                   stderr=subprocess.PIPE, text=True)
        before, said = 0, []
        for line in process.stderr:
            said.append(line)
            if line.startswith("switched to the plan"):
                before = peak_of(process)
                restart_peak(process)
        # The kernel's figure at the end of a child, since the last restart.
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode:
            sys.exit(f"{model} failed with exit code {process.returncode}:\n{''.join(said[-5:])}")
        return json.load(output), before, usage.ru_maxrss * 1024


def mebibytes(count):
    return f"{count / MIB:.0f}" if count >= 100 * MIB else f"{count / MIB:.1f}"


def target(reserved):
    return 1.02 * reserved + 48 * MIB


def row_of(model, run, before, after):
    memory, process = run["memory"], run["process"]
    whole = memory["peak_reserved"], max(before, after)
    steady = memory["peak_reserved_after_switch"] or whole[0], after
    parts = process["resident_set_of"]
    rest = [mebibytes(parts[name]) for name in
            ("program_and_libraries", "generated_kernels", "host_batches", "other_heap",
             "heap_slack", "other")]
    cells = [model]
    held = True
    for reserved, resident in (whole, steady):
        held = held and resident <= target(reserved)
        cells += [mebibytes(reserved), mebibytes(resident), mebibytes(target(reserved))]
    return [*cells, "yes" if held else "NO", *rest], held, steady


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", help=", ".join(MODELS))
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--build", default="build/release", help="folder of the build")
    options = parser.parse_args()
    program = ROOT / options.build / "train/skyline"
    header = ["model", "reserved peak", "resident peak", "target", "after the switch: reserved",
              "resident", "target", "held", "program, libraries", "kernels", "host batches",
              "other heap", "slack", "other"]
    print("| " + " | ".join(header) + " |\n" + "|" + "---|" * len(header))
    all_held, others = True, {}
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        draw_images(folder / "images", options.batch_size)
        for model in options.models or MODELS:
            cells, held, (reserved, resident) = row_of(
                model, *trained(program, model, options, folder))
            all_held = all_held and held
            if held and resident < 0.98 * target(reserved):
                others[model] = resident - reserved
            else:
                print("| " + " | ".join(cells) + " |", flush=True)
            subprocess.run(["rm", "-rf", str(folder / f"run-{model}")], check=True)
    if others:
        print(f"\nTargets are held, too, by {', '.join(others)}; resident beyond reserved after the "
              f"switch: {mebibytes(min(others.values()))} to {mebibytes(max(others.values()))} MiB")
    return 0 if all_held else 1


if __name__ == "__main__":
    sys.exit(main())
