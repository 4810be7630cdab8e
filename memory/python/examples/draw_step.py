#!/usr/bin/env python3
"""Draws a step's memory over time: as an allocator without foresight places it, planned, and planned
in the sequence of least peak.

    python3 memory/python/examples/draw_step.py GRAPH.json [--output step.png]
    python3 memory/python/examples/draw_step.py torchvision:resnet50 [--batch 32] [--output step.png]

GRAPH.json is what `skyline dry-run --write-graph` or StepGraph.save() writes. Each part between two
marks "# %%" is a cell for editors that know notebooks. Needs matplotlib.
"""

# %% The step: a graph from a file, or from a network of torchvision
import argparse

import matplotlib
matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PolyCollection

import skyline

parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
parser.add_argument("graph", metavar="GRAPH.json", help="or torchvision:NAME")
parser.add_argument("--batch", type=int, default=32, help="images of a torchvision network")
parser.add_argument("--output", default="step.png", help="the picture")
arguments = parser.parse_args()

if arguments.graph.startswith("torchvision:"):
    import torch
    import torchvision
    from skyline.pytorch import step_graph_of

    network = torchvision.models.get_model(arguments.graph.partition(":")[2])
    graph = step_graph_of(network, torch.zeros(arguments.batch, 3, 224, 224),
                          optimizer=lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9))
else:
    graph = skyline.StepGraph.load(arguments.graph)

# %% The sequence of least peak, and three ways to place blocks
best = skyline.order(graph)
panels = [
    ("placed as requested", best.program_blocks, skyline.plan(best.program_blocks, "program-order")),
    ("planned", best.program_blocks, skyline.plan(best.program_blocks)),
    ("reordered and planned", best.blocks, skyline.plan(best.blocks)),
]
for title, blocks, found in panels:
    assert skyline.check(blocks, found)
    proof = "no plan needs less" if found.proved_optimal else f"bound {found.proved_bound} bytes"
    print(f"{title}: {found.peak} bytes, {proof}")
print(f"order: {best.peak} bytes, " + (
    "no order needs less" if best.proved_optimal else f"bound {best.lower_bound} bytes"))

# %% The picture
MIB = 2**20
figure, axes = plt.subplots(1, 3, figsize=(15, 5), sharey=True, layout="constrained")
for axis, (title, blocks, found) in zip(axes, panels):
    bottoms, tops = found.offsets / MIB, (found.offsets + blocks["size"]) / MIB
    corners = [((left, low), (right, low), (right, high), (left, high)) for left, right, low, high
               in zip(blocks["lower"], blocks["upper"], bottoms, tops)]
    axis.add_collection(PolyCollection(corners, array=blocks["size"], cmap="viridis",
                                       edgecolors="white", linewidths=0.2))
    axis.axhline(best.lower_bound / MIB, color="crimson", linestyle="--", linewidth=1,
                 label="no order and no plan needs less")
    axis.set(title=f"{title}: {found.peak / MIB:.1f} MiB", xlabel="requests and frees",
             xlim=(0, blocks["upper"].max()))
axes[0].set(ylabel="MiB, without resident memory",
            ylim=(0, 1.05 * max(found.peak for _, _, found in panels) / MIB))
axes[2].legend(loc="upper right")
figure.suptitle(graph.name)
figure.savefig(arguments.output, dpi=110)
print(f"wrote {arguments.output}")
