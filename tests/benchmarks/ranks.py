#!/usr/bin/env python3
"""Trains on two ranks, and shows what sums cost beside what a dry run foresees:

    python3 tests/benchmarks/ranks.py [MODEL ...] [--build build/release]

Two processes of one thread each train on generated data, with the order of the lowest peak and in
the program's sequence. A row has, for a step, the buckets of gradients that are summed, the
milliseconds of all sums and those that ops waited for, and the share that is hidden, in the run and
as `dry-run --ranks 2` foresees it (for its link and device); then the bytes that a rank has
reserved since the plan serves, beside those that the dry run foresees. A sum ends when the slower
rank's values are there, so each rank needs a core of its own. Exits 1 if a run reserves over 1 %
more than foreseen.
"""

import argparse
import itertools
import json
import pathlib
import random
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = 2
BATCH, CLASSES, INSIZE, UNITS = 32, 10, 96, 256
# Flags that a dry run has, too.
NETWORKS = {"lenet": [], "resnet20": [],
            "googlenet": ["--insize", str(INSIZE), "--classes", str(CLASSES)],
            "seq2seq": ["--layers", "3", "--units", str(UNITS)]}
NETWORKS = {name: ["--batch-size", str(BATCH), *flags] for name, flags in NETWORKS.items()}
STEPS = {"lenet": 400, "resnet20": 60, "googlenet": 8, "seq2seq": 30}
SENTENCE_WORDS, WORDS, SPECIAL_WORDS = 20, 1000, 2  # special: end of sentence, unknown
MARGIN = 1.01


def draw_sentences(folder, pairs):
    """Pairs of sentences of one length, so that all steps are alike; more words than WORDS."""
    syllables = itertools.product("bcdfgklmnprst", "aeiou", "bdgkmnrst", "ao")
    words = ["".join(letters) for letters in itertools.islice(syllables, WORDS + 100)]
    chosen = random.Random(1)
    sentence = lambda: " ".join(chosen.choices(words, k=SENTENCE_WORDS))
    lines = [f"{sentence()}\t{sentence()}\n" for _ in range(pairs)]
    (folder / "train.tsv").write_text("".join(lines), encoding="ascii")
    (folder / "val.tsv").write_text(lines[0], encoding="ascii")


def training(program, model, folder, order="optimal"):
    """Returns the command of a run of STEPS[model] steps whose JSON goes to standard output."""
    samples = STEPS[model] * RANKS * BATCH
    data = ["--data", "shapes", "--images", str(samples)]
    if model == "seq2seq":
        if not (folder / "train.tsv").exists():
            draw_sentences(folder, samples)
        data = ["--data", str(folder / "train.tsv"), "--val-data", str(folder / "val.tsv"),
                "--vocab-size", str(WORDS), "--clip", "0"]
    run = next(name for k in itertools.count() if not (name := folder / f"{model}-{k}").exists())
    return [program, "train", "--model", model, *NETWORKS[model], *data, "--threads", "1",
            "--steps", str(STEPS[model]), "--order", order, "--output", str(run),
            "--quiet", "--json"]


def answer(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))} failed")
    return json.loads(done.stdout)


def foreseen(program, model, order):
    text = ["--vocab-size", str(WORDS + SPECIAL_WORDS), "--sentence-words", str(SENTENCE_WORDS)]
    words = [program, "dry-run", "--model", model, *NETWORKS[model], "--threads", "1", "--ranks",
             str(RANKS), "--order", order, "--allocators", "planned", "--json"]
    return answer(words + text * (model == "seq2seq"))["scaling"]["rows"][-1]


def row(program, model, order, folder):
    """Returns the cells of a row, and whether the bytes are as foreseen."""
    run = answer(training(program, model, folder, order) + ["--ranks", str(RANKS)])
    dry = foreseen(program, model, order)
    sums = run["rank_sums"]
    each = [1e3 * sums[name] / run["steps"] for name in ("sum_seconds", "wait_seconds")]
    hidden = max(0, 1 - sums["wait_seconds"] / sums["sum_seconds"])
    planned = dry["peak"] + dry["resident_bytes"]
    reserved = run["memory"]["peak_reserved_after_switch"]
    return [model, order, sums["sums"], f"{1e3 * run['step_seconds_median']:.2f}",
            *(f"{value:.2f}" for value in each), f"{100 * hidden:.0f} %",
            f"{100 * dry['hidden']:.0f} %", f"{planned / 2**20:.2f}",
            f"{reserved / 2**20:.2f}"], reserved <= MARGIN * planned


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=", ".join(NETWORKS))
    parser.add_argument("--build", default=ROOT / "build/release", type=pathlib.Path)
    options = parser.parse_args()
    for model in options.models:
        if model not in NETWORKS:
            parser.error(f"unknown model '{model}', expected one of {', '.join(NETWORKS)}")
    program = str(options.build / "train/skyline")
    header = ["network", "order", "sums", "step ms", "sums take ms", "waited ms", "hidden",
              "foreseen", "foreseen MiB", "reserved MiB"]
    print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|", flush=True)
    fits = True
    with tempfile.TemporaryDirectory() as folder:
        for model, order in itertools.product(options.models or NETWORKS, ("optimal", "program")):
            cells, as_foreseen = row(program, model, order, pathlib.Path(folder))
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
            fits = fits and as_foreseen
    return 0 if fits else 1


if __name__ == "__main__":
    sys.exit(main())
