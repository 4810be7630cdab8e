#!/usr/bin/env python3
"""Shows what budgets cost: bytes against the time of a step, for every network:

    python3 tests/benchmarks/budget.py [MODEL ...] [--build build/release]
    python3 tests/benchmarks/budget.py --run [MODEL ...] [--steps 6] [--turns 3] [--batch-size N]

The first form asks dry runs at 66, 60, 53, 46, 40 and 33 % of the bytes that the step takes without
a budget, with the batches of MONeT's table (Shah et al. 2021), and prints "longer by (at least)" and
the longest planning. "impossible" means that no step fits, which is proved, and "not found" that a
step may fit; both say what is missing, to what every step needs or to the least that was found. A
model's row ends with the first share at which no step fits, and below the table stands which op needs
these bytes. A second table puts MONeT's points beside ours in as many bytes, not in as large a share:
our step needs fewer than PyTorch's before it recomputes anything. The second form also trains: one
run without a budget gives the profile, then a run without a budget and one for each share take turns.
A row compares the least of their medians with what was foreseen, and ends with the least and the
largest ratio, (1 + measured) / (1 + foreseen).
Generated numbers and small images serve as data. Exits 1 if a step reserves more than its budget.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from resident_set import data_of, draw_images

ROOT = pathlib.Path(__file__).resolve().parents[2]
BATCHES = {"resnet50": 184, "googlenet": 320, "vgg16": 176, "mobilenet_v2": 272,
           "inception-resnet": 64, "alexnet": 128, "seq2seq": 128}
RUN_BATCHES = {"resnet50": 32, "googlenet": 64, "vgg16": 16, "mobilenet_v2": 32,
               "inception-resnet": 16, "alexnet": 128, "seq2seq": 128}
SHARES = [66, 60, 53, 46, 40, 33]
MONET = {  # gigabytes, and how much longer the step takes in them, in per cent (its README)
    "resnet50": [(10.01, 3.22), (9.01, 4.68), (8.01, 5.56), (6.99, 7.28), (6.00, 9.31), (4.99, 11.95)],
    "googlenet": [(9.98, 7.13), (8.01, 8.44), (6.01, 12.14), (4.99, 15.77)],
    "vgg16": [(7.88, -2.18), (6.82, 1.99), (5.51, 9.11)],
    "mobilenet_v2": [(10.02, 2.40), (7.01, 5.53), (5.01, 8.72)]}
MOST_POINTS = max(map(len, MONET.values()))
KIB = 1024
ROOMY = "20GiB"  # nothing is recomputed; the step is planned before it runs, as within budgets


def skyline(build, *words):
    """Returns the JSON of a command; why, a string, if the budget is too small."""
    done = subprocess.run([build / "train" / "skyline", *map(str, words), "--json"],
                          capture_output=True, text=True)
    if done.returncode == 2 and "do not suffice" in done.stderr:
        return done.stderr.strip()
    if done.returncode != 0:
        sys.exit(f"skyline {' '.join(map(str, words))} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def budget_of(answer, share):
    return f"{answer['budget']['reserved_without'] * share // 100 // KIB}KiB"


def refusal(why):
    """Returns "impossible: 80 MiB missing", or "not found: ..." if no proof says so."""
    missing = re.search(r"step: (.*?) are missing", why)[1]
    proved = "whatever is recomputed" in why
    return f"{'impossible' if proved else 'not found'}: {missing} missing"


def dry_run(model):
    return ["dry-run", "--model", model, "--batch-size", BATCHES[model], "--allocators", "planned"]


def longer_by(budget):
    return f"{100 * budget['overhead']:.1f} ({100 * budget['bound']:.1f})"


def foreseen(build, model, needs):
    """Returns a row; adds to `needs` what the least step of the model needs."""
    ask = dry_run(model)
    everything = skyline(build, *ask, "--memory", "1024GiB")
    cells, longest = [], 0.0
    for share in SHARES:
        answer = skyline(build, *ask, "--memory", budget_of(everything, share))
        if isinstance(answer, str):
            cells.append(refusal(answer))
            needs[model] = answer[answer.index("It needs"):].replace(
                "--engines fitting takes smaller workspaces. ", "")
            break
        budget = answer["budget"]
        longest = max(longest, budget["seconds"])
        cells.append(longer_by(budget))
    bytes_without = everything["budget"]["reserved_without"] / 2**30
    cells += [""] * (len(SHARES) - len(cells))
    return [f"{model}, {BATCHES[model]}", f"{bytes_without:.2f} GiB", *cells, f"{longest:.2f} s"]


def in_monets_bytes(build, model):
    """Returns a row with the points of MONeT."""
    def point(gigabytes, theirs):
        limit = f"{int(gigabytes * 1e9) // KIB}KiB"
        answer = skyline(build, *dry_run(model), "--memory", limit)
        ours = refusal(answer) if isinstance(answer, str) else longer_by(answer["budget"])
        return f"{gigabytes:.2f} GB: {ours}, {theirs:.1f}"

    points = [point(*numbers) for numbers in MONET[model]]
    return [f"{model}, {BATCHES[model]}", *points, *[""] * (MOST_POINTS - len(points))]


def run(build, model, batch, steps, turns, folder):
    """Returns a row: of each share "foreseen (at least), measured", until no step fits."""
    draw_images(folder / "images", batch)
    data = data_of(model, folder / "images", batch)
    ask = ["train", "--model", model, "--batch-size", batch, "--steps", steps, *data, "--output"]
    profile = folder / "profile"
    without = skyline(build, *ask, profile, "--memory", ROOMY)
    seconds = {share: [] for share in (100, *SHARES)}
    answers = {}
    for turn in range(turns):
        for share in seconds:
            limit = budget_of(without, share) if share < 100 else ROOMY
            if isinstance(answers.get(share), str):
                continue
            answers[share] = skyline(build, *ask, folder / f"{share}-{turn}", "--memory", limit,
                                     "--profile", profile)
            if not isinstance(answers[share], str):
                seconds[share].append(answers[share]["step_seconds_median"])
    cells, ratios = [], []
    for share in SHARES:
        answer = answers[share]
        if isinstance(answer, str):
            cells.append(refusal(answer))
            break
        budget = answer["budget"]
        if answer["memory"]["peak_reserved"] > budget["budget"]:
            sys.exit(f"{model} reserved more than {budget['budget']} bytes")
        measured = min(seconds[share]) / min(seconds[100]) - 1
        ratios.append((1 + measured) / (1 + budget["overhead"]))
        cells.append(f"{longer_by(budget)}, {100 * measured:.1f}")
    cells += [""] * (len(SHARES) - len(cells))
    extremes = f"{min(ratios):.2f} to {max(ratios):.2f}" if ratios else ""
    return [f"{model}, {batch}", *cells, extremes]


def print_table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(row) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", metavar="MODEL", choices=[[], *BATCHES])
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--batch-size", type=int, help="of a run, instead of one that takes seconds")
    given = parser.parse_args()
    models = given.models or list(BATCHES)
    if not given.run:
        needs = {}
        print_table(["network, batch", "without", *(f"{share} %" for share in SHARES), "planned in"],
                    (foreseen(given.build, model, needs) for model in models))
        print()
        for model, why in needs.items():
            print(f"- {model}: {why}")
        print()
        print_table(["network, batch", "bytes: ours (at least), MONeT", *[""] * (MOST_POINTS - 1)],
                    (in_monets_bytes(given.build, model) for model in models if model in MONET))
        return
    with tempfile.TemporaryDirectory() as folder:
        rows = (run(given.build, model, given.batch_size or RUN_BATCHES[model], given.steps,
                    given.turns, pathlib.Path(folder) / model) for model in models)
        print_table(["network, batch", *(f"{share} %" for share in SHARES), "ratio"], rows)


if __name__ == "__main__":
    main()
