#!/usr/bin/env python3
"""Training steps of PyTorch on the CPU under allocators that are preloaded, and under `skyline run`.

    python3 allocator_steps.py --skyline build/release/train/skyline [--turns 5] [--steps 8] [NETWORK …]

Each network runs in a process of its own under each allocator, in turns. A row has medians over the
turns: milliseconds, page faults and system milliseconds of the median step, without the first three,
and the peak of the resident set above what the process held before its first step (whole run, the
warm-up included). Allocators that are not installed are named and left out. Losses must agree.
Networks: resnet50 (16 images of 224 x 224, channels last, SGD with momentum), gpt (6 layers, 384
channels, 8 x 256 tokens, AdamW), lstm (2 layers, 1,024 units, 32 x 64 tokens, SGD).
"""

import argparse
import json
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
PRELOADED = {"jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
             "mimalloc": "libmimalloc.so.2"}
NETWORKS = ("resnet50", "gpt", "lstm")
WARM_UP = 3


def resident_mib():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE") / 2**20


def make(name):
    import torch
    from torch.nn import functional

    sys.path.insert(0, str(HERE.parents[1] / "memory/interpose"))
    sys.argv[1:] = [name]
    import torch_program as programs
    torch.manual_seed(1)
    if name == "resnet50":
        model = programs.resnet([3, 4, 6, 3], 4).to(memory_format=torch.channels_last)
        inputs = torch.randn(16, 3, 224, 224).contiguous(memory_format=torch.channels_last)
        return model, inputs, torch.randint(100, (16,)), functional.cross_entropy, "sgd"
    if name == "gpt":
        model = programs.Gpt(words=256, channels=384, layers=6, length=256)
        inputs = torch.randint(256, (8, 256))
    else:
        model, inputs = programs.Lstm(1024), torch.randint(256, (32, 64))
    return model, inputs, inputs.flatten(), functional.cross_entropy, "adamw" if name == "gpt" else "sgd"


def work(name, steps):
    """Runs in a process of its own; prints one line of JSON."""
    import torch
    torch.set_num_threads(2)
    model, inputs, labels, loss_of, rule = make(name)
    optimizer = (torch.optim.AdamW(model.parameters(), 1e-3) if rule == "adamw" else
                 torch.optim.SGD(model.parameters(), 0.01, momentum=0.9))
    base, rows, losses = resident_mib(), [], []
    for _ in range(steps + WARM_UP):
        before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model(inputs), labels)
        loss.backward()
        optimizer.step()
        after = resource.getrusage(resource.RUSAGE_SELF)
        rows.append((1e3 * (time.perf_counter() - start), after.ru_minflt - before.ru_minflt,
                     1e3 * (after.ru_stime - before.ru_stime)))
        losses.append(loss.item())
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - base
    print(json.dumps({"rows": [statistics.median(column) for column in zip(*rows[WARM_UP:])] + [peak],
                      "losses": losses}))


def servers(skyline):
    """Returns name → (words before the command, environment)."""
    found = {"glibc": ([], {}),
             "glibc, no mmap, no trim": ([], {"MALLOC_MMAP_MAX_": "0", "MALLOC_TRIM_THRESHOLD_": "-1"})}
    for name, library in PRELOADED.items():
        tried = subprocess.run(["true"], env={**os.environ, "LD_PRELOAD": library}, capture_output=True)
        if tried.stderr:
            print(f"{name}: not installed")
        else:
            found[name] = ([], {"LD_PRELOAD": library})
    if "jemalloc" in found:
        found["jemalloc"][1]["MALLOC_CONF"] = "dirty_decay_ms:-1,muzzy_decay_ms:-1"
    if skyline:
        found["skyline run"] = ([skyline, "run", "--quiet", "--"], {})
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("networks", nargs="*", metavar="NETWORK")
    parser.add_argument("--skyline", help="the program whose `run` is measured")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        return work(options.networks[0], options.steps)
    found = servers(options.skyline)
    for network in options.networks or NETWORKS:
        rows, losses = {name: [] for name in found}, set()
        for turn in range(options.turns):
            for name, (words, variables) in found.items():
                command = [*words, sys.executable, __file__, "--work", "--steps", str(options.steps), network]
                done = subprocess.run(command, env={**os.environ, "OMP_NUM_THREADS": "2", **variables},
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    sys.exit(f"{network} under {name}: {done.stderr}")
                told = json.loads(done.stdout.splitlines()[-1])
                rows[name].append(told["rows"])
                losses.add(str(told["losses"]))
            print(f"{network}: turn {turn + 1} of {options.turns}", file=sys.stderr)
        print(f"\n{network}: {'equal losses' if len(losses) == 1 else 'LOSSES DIFFER'}\n"
              f"{'':24} {'ms':>8} {'faults':>9} {'system ms':>10} {'MiB above base':>15}")
        for name, turns in rows.items():
            ms, faults, system, peak = (statistics.median(column) for column in zip(*turns))
            print(f"{name:24} {ms:8.0f} {faults:9.0f} {system:10.1f} {peak:15.0f}")


if __name__ == "__main__":
    main()
