"""Times the Python package: skyline.plan beside the program, and the steps of PyTorch's networks.

    PYTHONPATH=BUILD/memory/python python3 tests/benchmarks/python_package.py BUILD/train/skyline TRACES

TRACES holds MiniMalloc's A to F. Program and package plan each in turns, and the least of a few calls
counts. The networks are left out where torchvision is not installed.
"""

import json
import subprocess
import sys
import time
from pathlib import Path
from statistics import median

import pandas
import skyline

TURNS, CALLS = 7, 5


def program_seconds(program, path):
    """Returns the seconds that the program spent on the plan, without reading the trace."""
    answer = json.loads(subprocess.run([program, "plan", path, "--json"], check=True,
                                       capture_output=True, text=True).stdout)
    return answer["seconds"] + answer["validation_seconds"]


def package_seconds(blocks):
    begin = time.perf_counter()
    skyline.plan(blocks)
    return time.perf_counter() - begin


def time_traces(program, folder):
    for path in sorted(Path(folder).glob("[A-F].*.csv")):
        blocks = pandas.read_csv(path)
        turns = [(min(program_seconds(program, path) for _ in range(CALLS)),
                  min(package_seconds(blocks) for _ in range(CALLS))) for _ in range(TURNS)]
        theirs, ours = (median(seconds) for seconds in zip(*turns))
        ratio = median(package / own for own, package in turns)
        print(f"{path.name:16} program {1e3 * theirs:8.2f} ms, package {1e3 * ours:8.2f} ms, "
              f"ratio {ratio:.2f}", flush=True)


def time_networks():
    import torch
    from torch import nn
    from torchvision import models

    from skyline.pytorch import step_graph_of

    layer = nn.TransformerEncoderLayer(128, 4, 512, batch_first=True)
    text = nn.Sequential(nn.Embedding(1000, 128), nn.TransformerEncoder(layer, 4), nn.Linear(128, 1000))
    images = torch.zeros(32, 3, 224, 224)
    for name, module, inputs in (("resnet50", models.resnet50(), images),
                                 ("vit_b_16", models.vit_b_16(), images),
                                 ("transformer", text, torch.zeros(16, 64, dtype=torch.long))):
        graph = step_graph_of(module, inputs, optimizer=lambda parameters: torch.optim.SGD(
            parameters, lr=0.1, momentum=0.9))
        begin = time.perf_counter()
        best = skyline.order(graph)
        planned = skyline.plan(best.blocks)
        seconds = time.perf_counter() - begin
        print(f"{name:12} {len(graph.ops)} ops, ordered and planned in {seconds:.3f} s: "
              f"PyTorch's peak {graph.eager_peak}, ordered {best.peak}, at least "
              f"{best.lower_bound}, planned {planned.peak}", flush=True)


time_traces(*sys.argv[1:3])
try:
    time_networks()
except ModuleNotFoundError as missing:
    print(f"networks: Skipped, {missing}")
