#!/usr/bin/env python3
"""Plans packings whose optimum is known: rectangles that were cut into blocks.

    python3 tests/benchmarks/rectangles.py [--build build/release] [--seconds 10] [--removed 0.06]

A rectangle of ticks × bytes is cut again and again, by straight cuts and by pinwheels (four blocks
around a fifth), until it has so many pieces. Then a part of the pieces is removed. What is left fits
into the rectangle's bytes, and often needs them all. Each row asks `skyline plan` for a plan within
these bytes. Without removed pieces no byte may be wasted, so that a wrong choice shows at once; each
removed piece leaves room that may lie anywhere, which is what makes the larger ones hard.
"""

import argparse
import json
import pathlib
import random
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PIECES = (60, 100, 150, 200, 250, 300)
TICKS, BYTES = 1000, 1 << 20


def straight(rest, piece):
    """Cuts a piece (first tick, end, first byte, end) in two."""
    left, right, low, high = piece
    if rest.random() < 0.5 and right - left > 1:
        at = rest.randrange(left + 1, right)
        return [(left, at, low, high), (at, right, low, high)]
    if high - low < 2:
        return [piece]
    at = rest.randrange(low + 1, high)
    return [(left, right, low, at), (left, right, at, high)]


def pinwheel(rest, piece):
    """Cuts a piece in five, of which four lie around the fifth."""
    left, right, low, high = piece
    if right - left < 4 or high - low < 4:
        return straight(rest, piece)
    x1, x2 = sorted(rest.sample(range(left + 1, right), 2))
    y1, y2 = sorted(rest.sample(range(low + 1, high), 2))
    return [(left, x2, low, y1), (x2, right, low, y2), (x1, right, y2, high), (left, x1, y1, high),
            (x1, x2, y1, y2)]


def packing(pieces, with_pinwheels, removed, seed):
    rest = random.Random(seed)
    blocks = [(0, TICKS, 0, BYTES)]
    while len(blocks) < pieces:
        piece = blocks.pop(rest.randrange(len(blocks)))
        cut = pinwheel if with_pinwheels and rest.random() < 0.4 else straight
        blocks += cut(rest, piece)
    blocks = [block for block in blocks if rest.random() >= removed]
    rest.shuffle(blocks)
    return blocks


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build/release")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--removed", type=float, default=0.06, help="share of the pieces")
    parser.add_argument("--seeds", type=int, default=3, help="packings of each kind")
    arguments = parser.parse_args()
    solved = asked = 0
    print("cuts      pieces  seed  blocks  over the optimum  seconds")
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder, "trace.csv")
        for pieces in PIECES:
            for pinwheels in (False, True):
                for seed in range(arguments.seeds):
                    blocks = packing(pieces, pinwheels, arguments.removed, seed)
                    rows = (f"{k},{left},{right},{high - low}"
                            for k, (left, right, low, high) in enumerate(blocks))
                    trace.write_text("\n".join(["id,lower,upper,size", *rows, ""]))
                    output = subprocess.run(
                        [arguments.build / "train/skyline", "plan", trace, "--json", "--capacity",
                         f"{BYTES}B", "--time-limit", str(arguments.seconds)],
                        stdout=subprocess.PIPE, text=True).stdout
                    plan = json.loads(output)
                    asked += 1
                    solved += plan["peak"] <= BYTES
                    print(f"{'pinwheels' if pinwheels else 'straight':9} {pieces:6} {seed:5} "
                          f"{len(blocks):7} {max(plan['peak'] / BYTES - 1, 0):16.2%} "
                          f"{plan['seconds']:8.2f}", flush=True)
    print(f"{solved} of {asked} solved within {arguments.seconds:g} s")


if __name__ == "__main__":
    main()
