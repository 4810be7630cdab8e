#!/usr/bin/env python3
"""Shows that two builds of skyline compute the same bits and print the same figures:

    python3 tests/same_bits.py OLD/skyline NEW/skyline           # a quick choice of cases, minutes
    python3 tests/same_bits.py OLD NEW --all                     # every case
    python3 tests/same_bits.py OLD NEW --models lenet,seq2seq --sets memory,ranks
    python3 tests/same_bits.py OLD NEW --list                    # names the cases, runs none
    python3 tests/same_bits.py PROGRAM --self-test               # shows that differences are found

Both programs run the same commands, side by side. Compared are losses, parameters, optimizer
state, positions of checkpoints, recorded traces, plans, graphs and pages of trainings; the JSON,
the text and the files of every other command; the messages of wrong usage; and what either program
makes of the runs that OLD has stored. MAY_DIFFER names what may differ, and why. Prints a line a
case, and below it what differs; exits with 1 if anything differs or fails, 2 for wrong usage.
"""

import argparse
import concurrent.futures
import contextlib
import dataclasses
import fnmatch
import functools
import hashlib
import io
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from typing import Any, Callable

# What may differ between two runs of one program: patterns of COMMAND.KEY.KEY…, without the places
# in lists. All other seconds are those of a model, so they must agree.
MAY_DIFFER = {
    "clocks": [
        *(f"{command}.seconds" for command in
          ["train", "dry-run", "plan", "replay", "order", "evaluate", "translate", "reproduce",
           "compare", "check", "check-order"]),
        "*.planning_seconds", "*.validation_seconds", "*.step_seconds_median", "*.stalled_seconds",
        "*.data_wait_seconds", "*.first_batch_seconds", "*.words_per_second",
        "*.allocate_ns_median", "*.clock_ns", "dry-run.order.seconds", "replay*.plan.seconds",
        "*.budget.seconds", "train.rank_sums.*_seconds", "train.log.seconds", "train.log.data_wait",
        "*.csv.seconds", "*.csv.*_seconds", "reproduce.rows.*seconds", "reproduce.growth_exponent"],
    "clocks in pages": [
        "reproduce.page.seconds", "reproduce.page.rows.*seconds", "reproduce.page.growthexponent",
        "*.page.plan.seconds", "*.page.ranks.*seconds", "*.page.comparison.allocatensmedian",
        "*.page.comparison.stepsecondsmedian"],
    "what the system counts for a process": ["*.process", "*.page.process"],
    "what this machine has left": ["*.machine_memory"],
    "names of folders": ["*.run_directory"],
}
# Keys of pages that took the name that --json has for the same figure.
RENAMED = {"peakreservedbytes": "peakreserved", "afterswitchbytes": "peakreservedafterswitch",
           "gap": "gaptolowerbound", "allocatenanoseconds": "allocatensmedian",
           "stepseconds": "stepsecondsmedian", "without": "reservedwithout",
           "candidates": "couldrecompute", "source": "secondsfrom"}
# Beside lanes, plans follow from measured seconds, so only results of the computation are compared.
RESULTS = ["losses", "weights", "state", "position", "evaluations.jsonl"]

SMALL = ["mlp", "lenet", "seq2seq"]  # the quick choice has all their cases
LEAST_INSIZE = {"mlp": 28, "lenet": 28, "resnet20": 32, "mobilenet_v2": 32, "alexnet": 64,
                "googlenet": 79, "resnet18": 32, "resnet50": 32, "inception-resnet-figure": 75,
                "inception-resnet": 75, "vgg16": 32}
MODELS = [*LEAST_INSIZE, "seq2seq", "gpt-small"]
GPT = ["--layers", "2", "--units", "16", "--heads", "2", "--length", "16", "--batch-size", "4"]
QUICK_SETS = {"resnet20": ["default", "memory", "memory-ranks", "lanes", "fused-update"],
              "mobilenet_v2": ["default", "ranks"], "googlenet": ["default", "lanes"],
              "gpt-small": []}
STEPS_ON_LANES = 10  # lanes begin after seven steps
LIMIT = 600  # seconds of a command

# Options of a training. BUDGET stands for bytes between the least and the most that OLD can use.
BUDGET = "BUDGET"
SETS = {
    "default": [],
    "memory": ["--memory", BUDGET],
    "lanes": ["--lanes", "2"],
    "micro-batches": ["--micro-batches", "2"],
    "engines": ["--engines", "direct"],
    "program-order": ["--order", "program"],
    "fused-update": ["--fused-update"],
    "ranks": ["--ranks", "2"],
    "grow": ["--policy", "grow"],
    "per-shape": ["--policy", "per-shape"],
    "upper-bound": ["--policy", "upper-bound"],
    "recompute": ["--recompute", "3"],
    "no-in-place": ["--no-in-place"],
    "memory-fitting": ["--memory", BUDGET, "--engines", "fitting"],
    "memory-micro-batches": ["--memory", BUDGET, "--micro-batches", "2"],
    "memory-lanes": ["--memory", BUDGET, "--lanes", "2"],
    "memory-ranks": ["--memory", BUDGET, "--ranks", "2"],
    "sharded": ["--ranks", "2", "--shard-optimizer", "--optimizer", "adam", "--latency", "1000"],
    "pool": ["--allocator", "best-fit-pool", "--check", "--guard"],
    "unroll": ["--unroll"],
    "unroll-memory": ["--unroll", "--layers", "1", "--memory", BUDGET],
    "bucket": ["--bucket"],
}
TEXT_ONLY = {"unroll", "unroll-memory", "bucket"}


class Failure(Exception):
    """A command did not do what it should have done."""


FAILURES = (Failure, OSError, ValueError, KeyError)  # the others: a file lacks what it should hold


class Side:
    """One of the two programs, and the folder that it runs in."""

    def __init__(self, program, folder):
        self.program, self.folder = str(program), pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        # Its own: mpirun removes the folder of another one that ends at the same time.
        self.temporary = self.folder.with_name(self.folder.name + "-tmp")
        self.temporary.mkdir(exist_ok=True)

    def call(self, words, code=0):
        command = " ".join(["skyline", *words])
        try:
            done = subprocess.run([self.program, *words], capture_output=True, text=True,
                                  cwd=self.folder, timeout=LIMIT, stdin=subprocess.DEVNULL,
                                  env={**os.environ, "OMP_WAIT_POLICY": "passive",
                                       "TMPDIR": str(self.temporary)})
        except subprocess.TimeoutExpired:
            raise Failure(f"{command}: no end after {LIMIT} s") from None
        if done.returncode != code:
            said = (done.stderr.strip() or done.stdout.strip())[-300:]
            raise Failure(f"{command}: exit code {done.returncode}, expected {code}: {said}")
        return done

    def json(self, words, code=0):
        printed = self.call([*words, "--json"], code).stdout
        try:
            return without_clocks(json.loads(printed), words[0])
        except ValueError as error:
            raise Failure(f"skyline {' '.join(words)}: not JSON: {error}") from None


# ---- What is compared ----

def may_differ(path):
    return any(fnmatch.fnmatchcase(path, pattern)
               for patterns in MAY_DIFFER.values() for pattern in patterns)


def without_clocks(value, path):
    if isinstance(value, dict):
        return {k: without_clocks(v, f"{path}.{k}") for k, v in value.items()
                if not may_differ(f"{path}.{k}")}
    if isinstance(value, list):
        return [without_clocks(v, path) for v in value]
    return value


def text_without_clocks(text):
    """Masks times and lengths of bars and columns, which depend on the times' digits."""
    text = re.sub(r"\d[\d.,]*(e[-+]\d+)? ?(ns|µs|ms|s|min|h)\b", "TIME", text)
    text = re.sub(r"[\d.,]+ [MG]?B/s|\d[\d.,]* (images|sentences|words)/s", "RATE", text)
    text = re.sub(r"the heuristic's time grows .* power of [\d.]+", "GROWTH", text)
    text = re.sub(r"this machine leaves [\d.]+ \w+", "this machine leaves BYTES", text)
    return re.sub(r"[ ─]{2,}", "  ", text).splitlines()


def tensors(path):
    """The tensors of a safetensors file by name, and its metadata."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    data = content[8 + length:]
    metadata = header.pop("__metadata__", {})
    return metadata, {name: [tensor["dtype"], tensor["shape"],
                             hashlib.sha256(data[slice(*tensor["data_offsets"])]).hexdigest()]
                      for name, tensor in header.items()}


def with_plain_keys(value):
    """Keys of a page as they are called now, without case and underscores."""
    if isinstance(value, dict):
        plain = {k.replace("_", "").lower(): with_plain_keys(v) for k, v in value.items()}
        return {RENAMED.get(k, k): v for k, v in plain.items()}
    return [with_plain_keys(v) for v in value] if isinstance(value, list) else value


def content(path, command):
    """What a file says, without clocks."""
    if path.suffix == ".safetensors":
        return tensors(path)[1]
    text = path.read_text(errors="surrogateescape")
    if path.suffix == ".json":
        return without_clocks(json.loads(text), command)
    if path.suffix == ".jsonl":
        return [without_clocks(json.loads(line), f"{command}.{path.stem}")
                for line in text.splitlines()]
    if path.suffix == ".html":
        page = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S)
        data = json.loads(page[1].replace("<\\/", "</")) if page else {"no data": text}
        return without_clocks(with_plain_keys(data), f"{command}.page")
    if path.suffix == ".csv" and text:
        keys, *rows = [line.split(",") for line in text.splitlines()]
        if "alignment" in keys and "size" in keys:
            round_sizes(keys, rows)
        return [keys] + [[cell for key, cell in zip(keys, row)
                          if not may_differ(f"{command}.csv.{key}")] for row in rows]
    return text_without_clocks(text)


def round_sizes(keys, rows):
    """Rounds sizes up to their alignments, as Skyline writes them since each block has its own."""
    size, alignment = keys.index("size"), keys.index("alignment")
    for row in rows:
        if len(row) == len(keys):
            row[size] = str(-(-int(row[size]) // int(row[alignment])) * int(row[alignment]))


def files_of(folder, command):
    return {str(path.relative_to(folder)): content(path, command)
            for path in sorted(folder.rglob("*")) if path.is_file()}


def differences(old, new, path=""):
    """Lines that name each figure that differs, of both values."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in [*old, *(k for k in new if k not in old)]:
            yield from differences(old.get(key, "absent"), new.get(key, "absent"),
                                   f"{path}.{key}" if path else str(key))
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for place, (a, b) in enumerate(zip(old, new)):
            yield from differences(a, b, f"{path}[{place}]")
    elif type(old) is not type(new) or (old != new and not (old != old and new != new)):
        yield f"{path}: old {str(old)[:200]}\n{' ' * len(path)}  new {str(new)[:200]}"


# ---- Inputs ----

def write_png(path, seed, height=40, width=36):
    rows = random.Random(seed)
    pixels = b"".join(b"\0" + rows.randbytes(3 * width) for _ in range(height))

    def chunk(kind, data):
        checksum = struct.pack(">I", zlib.crc32(kind + data))
        return struct.pack(">I", len(data)) + kind + data + checksum

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(
        ">IIBBBBB", width, height, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(pixels)) +
        chunk(b"IEND", b""))


def write_inputs(folder):
    """A folder of images, one of them cut off; lists of it; IDX files; a text with a bad line."""
    pets = folder / "pets"
    for part, count in (("train", 9), ("val", 2)):
        for label, name in enumerate(("cat", "dog")):
            for number in range(count):
                write_png(pets / part / name / f"{number}.png", f"{part} {name} {number}")
        (folder / f"{part}.list").write_text("".join(
            f"{part}/{name}/{number}.png {label}\n"
            for label, name in enumerate(("cat", "dog")) for number in range(count)))
    cut_off = pets / "train" / "dog" / "3.png"
    cut_off.write_bytes(cut_off.read_bytes()[:200])
    idx = folder / "idx"
    idx.mkdir()
    for name, count in (("train", 24), ("t10k", 6)):
        pixels = random.Random(name).randbytes(count * 28 * 28)
        (idx / f"{name}-images-idx3-ubyte").write_bytes(
            struct.pack(">IIII", 0x803, count, 28, 28) + pixels)
        (idx / f"{name}-labels-idx1-ubyte").write_bytes(
            struct.pack(">II", 0x801, count) + bytes(i % 3 for i in range(count)))
    words = random.Random("text")
    lines = [[" ".join(words.choices(["one", "two", "three", "four"], k=words.randint(1, 9)))
              for _ in range(40)] for _ in range(2)]
    (folder / "text.a").write_text("\n".join(lines[0]) + "\n")
    (folder / "text.b").write_text("\n".join(lines[1]) + "\n")
    (folder / "text.tsv").write_bytes(b"".join(
        f"{a}\t{b}\n".encode() for a, b in zip(*lines)) + b"\xff\tbad\nno tab\n")


class Inputs:
    """Files that both programs read. OLD has made those that a program makes."""

    def __init__(self, old, folder):
        self.folder = folder
        self.old = Side(old, folder / "old")
        write_inputs(folder)

    def data(self, model):
        if model == "seq2seq":
            return ["--data", "numbers", "--pairs", "200", "--val-pairs", "10", "--vocab-size",
                    "200", "--units", "16", "--batch-size", "8", "--threads", "1"]
        if model == "gpt-small":
            return ["--data", "sums", "--characters", "2000", *GPT, "--threads", "1"]
        return ["--data", str(self.folder / "pets"), "--insize", str(LEAST_INSIZE[model]),
                "--batch-size", "2", "--threads", "1"]

    @functools.lru_cache(maxsize=None)
    def curve(self, model):
        """Bytes from all that a step may keep down to the least, from OLD's dry run."""
        shape = (["--vocab-size", "200", "--units", "16", "--batch-size", "8", "--sentence-words",
                  "8"] if model == "seq2seq" else
                 [*GPT, "--vocab-size", "22"] if model == "gpt-small" else
                 ["--insize", str(LEAST_INSIZE[model]), "--classes", "2", "--batch-size", "2",
                  "--channels", "3"])
        points = self.old.json(["dry-run", "--model", model, *shape, "--threads", "1", "--budgets"])
        return [point["bytes"] for point in points["budgets"]]

    @functools.lru_cache(maxsize=None)
    def budget(self, model, flags, length):
        """Bytes between the least and the most that OLD's steps with these flags can use: in the
        middle of the curve, or more where lanes or sums of ranks do not fit into that. Texts run
        to `length`, because longer runs may have longer sentences; one step tells of images."""
        curve = self.curve(model)
        train = ["train", "--model", model, *self.data(model),
                 *(length if model == "seq2seq" else ("--steps", "1"))]
        plain = [f for f in flags if "fitting" not in flags or f not in ("--engines", "fitting")]
        out = self.old.folder / f"{model}-trial"
        taken = self.old.json([*train, *plain, "--policy", "upper-bound", "--out", str(out)])
        middle = curve[len(curve) // 2] / curve[0]
        for share in (middle, (1 + middle) / 2, 1.01, 1.5):
            kib = int(taken["memory"]["peak_reserved_after_switch"] * share) // 1024 + 1
            shutil.rmtree(out, ignore_errors=True)
            with contextlib.suppress(Failure):
                self.old.call([*train, *flags, "--memory", f"{kib}KiB", "--out", str(out)])
                shutil.rmtree(out, ignore_errors=True)
                return f"{kib}KiB"
        raise Failure(f"skyline {' '.join([*train, *flags])}: no --memory that was tried suffices")

    @functools.lru_cache(maxsize=None)
    def run(self, model, set_name, stop):
        """Trains with OLD and returns the run's folder; see `STOPS`."""
        flags = flags_of(self, model, set_name, further(set_name, stop))
        out = self.old.folder / f"{model}-{set_name}-{stop}"
        self.old.call(["train", "--model", model, *self.data(model), *flags, "--out", str(out),
                       *STOPS[stop]])
        if stop == "before evaluation":
            checkpoints = out / "checkpoints"
            latest = checkpoints / "latest"
            last = latest.resolve()
            shutil.rmtree(last)
            rest = [path for path in checkpoints.iterdir() if not path.is_symlink()]
            if len(rest) != 1:
                raise Failure(f"{out}: expected a checkpoint beside the last one, got {len(rest)}")
            latest.unlink()
            latest.symlink_to(rest[0].name)
        return out

    @functools.lru_cache(maxsize=None)
    def lab(self):
        """A trace, a plan, a graph, an order and events of lenet's step."""
        run = self.run("lenet", "default", "after evaluation")
        lab = self.folder / "lab"
        lab.mkdir()
        self.old.call(["dry-run", "--model", "lenet", "--batch-size", "4", "--write-trace",
                       str(lab / "trace.csv"), "--write-graph", str(lab / "graph.json")])
        self.old.call(["plan", str(lab / "trace.csv"), "--output", str(lab / "plan.csv")])
        self.old.call(["order", str(lab / "graph.json"), "--output", str(lab / "order.json")])
        self.old.call(["replay", str(run / "trace.csv"), "--format", "minimalloc",
                       "--write-events", str(lab / "events.csv")])
        rows = [row.split(",") for row in (lab / "plan.csv").read_text().splitlines()]
        rows[2][rows[0].index("offset")] = rows[1][rows[0].index("offset")]  # two blocks at once
        (lab / "wrong.csv").write_text("".join(",".join(row) + "\n" for row in rows))
        return lab


# ---- Cases ----

@dataclasses.dataclass
class Case:
    model: str  # or "none"
    group: str  # an option set, or a group of other commands
    name: str
    result: Callable[[Side, Any], dict]
    prepare: Callable[[], Any] = lambda: None  # made once, by OLD
    quick: bool = True


def flags_of(inputs, model, set_name, length):
    flags = SETS[set_name]
    others = tuple(f for f in flags if f not in (BUDGET, "--memory"))
    return [inputs.budget(model, others, tuple(length)) if f == BUDGET else f for f in flags]


def left_behind(out, printed, lanes):
    """What a training left in its folder and printed."""
    latest = out / "checkpoints" / "latest"
    log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    metadata, state = tensors(latest / "state.safetensors")
    position = json.loads(metadata.pop("skyline.position"))
    found = {"json": printed, "losses": [step["loss"] for step in log],
             "weights": tensors(latest / "weights.safetensors")[1], "state": state,
             "position": without_clocks(position, "train.position"), "metadata": metadata,
             "profile": [[op[k] for k in ("phase", "op", "layer")] + [len(op["seconds"])]
                         for op in json.loads((out / "profile.json").read_text())["ops"]]}
    for path in out.iterdir():
        if path.is_file() and path.name != "profile.json":
            found[path.name] = content(path, "train")
    return {key: found[key] for key in RESULTS if key in found} if lanes else found


def train(side, words, lanes=False):
    out = side.folder / "run"
    printed = side.json(["train", *words, "--out", "run"])
    return left_behind(out, printed, lanes)


def training_cases(inputs):
    for model in MODELS:
        for set_name, flags in SETS.items():
            if set_name in TEXT_ONLY and model != "seq2seq":
                continue
            lanes = "--lanes" in flags
            length = ["--steps", str(STEPS_ON_LANES if lanes else 4)]

            def prepare(model=model, set_name=set_name, length=length):
                return flags_of(inputs, model, set_name, length)

            def result(side, flags, model=model, length=length, lanes=lanes):
                return train(side, ["--model", model, *inputs.data(model), *flags, *length], lanes)

            yield Case(model, set_name, f"train --model {model} {' '.join(flags)}".strip(), result,
                       prepare,
                       model in SMALL or set_name in QUICK_SETS.get(model, ["default"]))
    for name, words in {
        "shapes, two epochs": ["--model", "mlp", "--data", "shapes", "--images", "64", "--epochs",
                               "2", "--keep-best", "--schedule", "step"],
        "IDX files": ["--model", "lenet", "--data", str(inputs.folder / "idx"),
                      "--batch-size", "4"],
        "lists": ["--model", "lenet", "--train-list", str(inputs.folder / "train.list"),
                  "--val-list", str(inputs.folder / "val.list"), "--root",
                  str(inputs.folder / "pets"), "--mean", "channel", "--insize", "28",
                  "--batch-size", "4", "--checkpoint-every", "3"],
        "text files": ["--model", "seq2seq", "--data", str(inputs.folder / "text.tsv"), "--units",
                       "8", "--batch-size", "8", "--translate-every", "4", "--val-source",
                       str(inputs.folder / "text.a"), "--val-target", str(inputs.folder / "text.b"),
                       "--epochs", "2"],
    }.items():
        yield Case("none", "data", f"train, {name}",
                   lambda side, _, words=words: train(side, [*words, "--threads", "1"]))


# Where a stored run stands.
STOPS = {"before evaluation": ["--steps", "3", "--checkpoint-every", "2"],
          "after evaluation": ["--steps", "3"],
          "after an epoch": ["--epochs", "1"]}


def further(set_name, stop):
    """How far a stored run is resumed."""
    if stop == "after an epoch":
        return ["--epochs", "2"]
    return ["--steps", str(STEPS_ON_LANES + 3 if "lanes" in set_name else 6)]


def resume_cases(inputs):
    """A run that OLD has stored goes on in both programs."""
    for model in ("lenet", "resnet20", "seq2seq"):
        for set_name in ("default", "memory", "ranks", "memory-ranks", "micro-batches", "lanes",
                         "engines", "sharded", *(["unroll-memory"] if model == "seq2seq" else [])):
            for stop in STOPS:

                def prepare(model=model, set_name=set_name, stop=stop):
                    return inputs.run(model, set_name, stop)

                def result(side, stored, length=further(set_name, stop), lanes="lanes" in set_name):
                    shutil.copytree(stored, side.folder / "run", symlinks=True)
                    printed = side.json(["train", "--resume", "run", *length])
                    return left_behind(side.folder / "run", printed, lanes)

                quick = model != "resnet20" and set_name in ("default", "memory", "ranks")
                yield Case(model, "resume", f"train --resume, of {model} {set_name}, {stop}",
                           result, prepare, quick)

    def other_budget(side, stored):
        shutil.copytree(stored, side.folder / "run", symlinks=True)
        printed = side.json(["train", "--resume", "run", "--steps", "6", "--memory", "2MiB"])
        return left_behind(side.folder / "run", printed, False)

    yield Case("lenet", "resume", "train --resume, of lenet memory, with another budget",
               other_budget, lambda: inputs.run("lenet", "memory", "after evaluation"))


def commands_case(model, group, words, prepare=lambda: [], code=0, quick=True, text=True):
    """A command's JSON, text, messages of wrong usage, and the files that it writes."""
    def result(side, more):
        command = [*words, *more]
        if code == 2:
            return {"message": side.call(command, 2).stderr.splitlines()}
        found = {"json": side.json(command, code), "files": files_of(side.folder, words[0])}
        if text:
            found["text"] = text_without_clocks(side.call(command, code).stdout)
        return found

    return Case(model, group, " ".join(words), result, prepare, quick)


def model_commands(inputs):
    for model in MODELS:
        for flags in ([], ["--infer"], ["--recompute", "4", "--fused-update"], ["--lanes", "3"],
                      ["--ranks", "4", "--micro-batches", "2"], ["--budgets"]):
            # Exact answers of whole networks take long.
            quick = model in SMALL or flags in ([], ["--infer"])
            yield commands_case(model, "dry-run", [
                "dry-run", "--model", model, "--batch-size", "4" if "--budgets" in flags else "16",
                "--threads", "2", *flags], quick=quick, text=model in SMALL)
        yield commands_case(model, "summary", ["summary", "--model", model])
        yield commands_case(model, "graph", ["graph", "--model", model, "--batch-size", "2"])

        def compare(side, _, model=model):
            found = side.json(["compare", "--model", model, *inputs.data(model), "--steps", "4",
                               "--allocators", "network-wise,best-fit-pool,planned"])
            return {"json": found}

        yield Case(model, "compare", f"compare --model {model}", compare, quick=model in SMALL)


def dry_run_commands(inputs):
    for words in (
            *(["--model", "lenet", "--order", order] for order in
              ("greedy", "program", "early", "inductor", "xla")),
            ["--model", "lenet", "--memory", "2400KiB"],
            ["--model", "lenet", "--engines", "direct"],
            ["--model", "lenet", "--workspace", "1MiB"], ["--model", "lenet", "--no-in-place"],
            ["--model", "lenet", "--capacity", "4MiB"], ["--model", "mlp", "--optimizer", "adam"],
            ["--model", "lenet", "--device-memory", "8MiB", "--slowdown", "5"],
            ["--model", "lenet", "--engines", "fitting", "--budgets"],
            ["--model", "lenet", "--planner", "exact", "--allocators", "caching,bfc",
             "--max-split-size", "32MiB", "--bfc-limit", "64MiB"],
            ["--model", "resnet20", "--write-trace", "trace.csv", "--write-graph", "graph.json",
             "--lanes", "2", "--write-lanes", "lanes.html", "--ranks", "4", "--write-ranks",
             "ranks.html", "--latency", "50", "--bandwidth", "1GiB"],
            ["--model", "seq2seq", "--unroll", "--sentence-words", "5", "--units", "16",
             "--vocab-size", "500", "--batch-size", "16", "--memory", "880KiB"]):
        yield commands_case("none", "dry-run", ["dry-run", "--threads", "1", *words])
    yield commands_case("none", "dry-run", ["dry-run", "--model", "lenet", "--insize", "28",
                                            "--batch-size", "2", "--budgets", "--profile"],
                        lambda: [str(inputs.run("lenet", "default", "after evaluation"))])


def lab_commands(inputs):
    def files(*names):
        return lambda: [str(inputs.lab() / name) for name in names]

    for planner in ("portfolio", "best-fit", "best-fit-by-size", "best-fit-by-area",
                    "greedy-by-size", "greedy-by-lifetime", "program-order", "hill-climb",
                    "restarts", "exact", "smt"):
        yield commands_case("none", "plan", ["plan", "--planner", planner, "--output", "plan.csv"],
                            files("trace.csv"))
    for words in (["--explain", "why.html"], ["--explain", "why.json"], ["--alignment", "4096"],
                  ["--capacity", "1GiB"]):
        yield commands_case("none", "plan", ["plan", *words], files("trace.csv"))
    yield commands_case("none", "plan", ["plan", "--capacity", "1KiB"], files("trace.csv"), code=1)
    yield commands_case("none", "check", ["check"], files("trace.csv", "plan.csv"))
    yield commands_case("none", "check", ["check", "--verify"], files("trace.csv", "plan.csv"))
    yield commands_case("none", "check", ["check"], files("trace.csv", "wrong.csv"), code=1)
    for algorithm in ("optimal", "greedy", "program", "early", "inductor", "xla"):
        yield commands_case("none", "order", ["order", "--algorithm", algorithm, "--output",
                                              "order.json"], files("graph.json"))
    yield commands_case("none", "check-order", ["check-order"], files("graph.json", "order.json"))
    yield commands_case("none", "replay", ["replay", "--write-trace", "trace.csv"],
                        files("events.csv"))
    yield commands_case("none", "replay", ["replay", "--allocator", "caching", "--write-rmm",
                                           "rmm.csv", "--write-chrome-trace", "chrome.json"],
                        files("events.csv"))
    yield commands_case("none", "replay", ["replay", "--capacity", "1MiB"],
                        files("events.csv", "trace.csv"))

    def csv(side, given):
        return {"csv": text_without_clocks(side.call(["replay", "--csv", *given]).stdout)}

    yield Case("none", "replay", "replay --csv", csv, files("events.csv"))
    for phase in ("all", "forward", "backward", "update"):
        yield commands_case("none", "graph", ["graph", "--model", "lenet", "--phase", phase])
    yield commands_case("none", "graph", ["graph", "--model", "lenet", "--output", "g.dot"],
                        text=False)
    for paper in ("mxnet", "olla", "pgmo"):
        yield commands_case("none", "reproduce", ["reproduce", paper, "--output", "."])
    for lab in ("planner", "allocator", "in-place", "order"):
        yield commands_case("none", "lab", ["lab", lab])


def run_commands(inputs):
    """Commands on runs that OLD has stored, and on data."""
    image = functools.partial(inputs.run, "lenet", "default", "after evaluation")
    folder = inputs.folder

    def given(*others):
        return lambda: [str(image()), *map(str, others)]

    yield commands_case("none", "evaluate", ["evaluate"], given(), text=False)
    yield commands_case("none", "evaluate", ["evaluate", "--batch-size", "3"], given(), text=False)
    for set_name in ("memory", "ranks", "engines"):
        yield commands_case("none", "evaluate", ["evaluate"], lambda set_name=set_name: [
            str(inputs.run("lenet", set_name, "after evaluation"))], text=False)
    yield commands_case("none", "predict", ["predict", "--top", "1"],
                        given(folder / "pets" / "val", folder / "pets/train/cat/1.png"))
    for words in ([], ["--beam", "3"], ["--max-length", "5", "--all-words"]):
        yield commands_case("none", "translate", [
            "translate", "--input", str(folder / "text.a"), "--reference", str(folder / "text.b"),
            *words], lambda: [str(inputs.run("seq2seq", "default", "after evaluation"))])
    yield commands_case("none", "compare", ["compare", "--report", "page.html"], lambda: [
        str(image()), str(inputs.run("lenet", "memory", "after evaluation"))])
    yield commands_case("none", "compare", ["compare"], lambda: [
        str(inputs.run("seq2seq", "default", "after evaluation")),
        str(inputs.run("seq2seq", "unroll-memory", "after evaluation"))])
    for words in (["pets"], ["idx"], ["text.tsv"]):
        yield commands_case("none", "check-data", ["check-data", str(folder / words[0])], code=(
            1 if words != ["idx"] else 0))
    yield commands_case("none", "check-data", [
        "check-data", "--train-list", str(folder / "train.list"), "--val-list",
        str(folder / "val.list"), "--root", str(folder / "pets")], code=1)
    yield commands_case("none", "check-data", ["check-data", "--source", str(folder / "text.a"),
                                               "--target", str(folder / "text.b")])
    for name, words in {"pools": ["--allocators", "exact-pool,caching,bfc,planned-upper-bound",
                                  "--report", "page.html"],
                        "memory": ["--memory", BUDGET], "infer": ["--infer"],
                        "micro-batches": ["--micro-batches", "2"], "capacity": [
                            "--allocators", "best-fit-pool@850KiB,planned"]}.items():
        def compare(side, flags):
            return {"json": side.json(["compare", "--model", "lenet", *inputs.data("lenet"),
                                       "--steps", "4", *flags]),
                    "files": files_of(side.folder, "compare")}

        yield Case("none", "compare", f"compare --model lenet, {name}", compare,
                   lambda words=words: [inputs.budget("lenet", (), ()) if w == BUDGET else w
                                        for w in words])


def help_cases():
    for command in ("train", "evaluate", "predict", "translate", "compare", "dry-run", "summary",
                    "graph", "check-data", "plan", "check", "order", "check-order", "replay",
                    "reproduce", "lab", "completion"):
        yield Case("none", "help", f"help {command}", lambda side, _, command=command: {
            "text": side.call(["help", command]).stdout.splitlines()})
    for shell in ("bash", "zsh"):
        yield Case("none", "completion", f"completion {shell}", lambda side, _, shell=shell: {
            "text": side.call(["completion", shell]).stdout.splitlines()})


WRONG_USAGE = """
train --model lenet --fused-update --micro-batches 2
train --model lenet --memory 0
train --model lenet --memory 1MiB --recompute 2
train --model lenet --memory 1MiB --policy grow
train --model lenet --memory 1MiB --allocator caching
train --model lenet --engines fitting
train --model lenet --profile nowhere
train --model lenet --shard-optimizer
train --model lenet --bandwidth 1GiB
train --model lenet --ranks 2 --bandwidth 0
train --model lenet --ranks 2 --lanes 2
train --model lenet --lanes 4096
train --model lenet --tf32
train --model lenet --workspace 1MiB
train --model lenet --optimizer adam --momentum 0.5
train --model lenet --unroll
train --model lenet --bfc-limit 1GiB
train --model lenet --train-list a
train --model lenet --data elsewhere --val-list a --train-list b
train --model lenet --data shapes --resize 40
train --model seq2seq --fused-update --clip 1
train --model seq2seq --insize 28
train --model seq2seq --source a
train --model seq2seq --ranks 2 --fast-sum --unroll
train --model unknown
train --resume nowhere --output elsewhere
train --resume nowhere --config elsewhere
compare --model lenet --allocators planned,planned
compare nowhere
dry-run --model lenet --memory 1MiB --infer
dry-run --model lenet --budgets --infer
dry-run --model lenet --slowdown 5
dry-run --model lenet --ranks 2 --infer
dry-run --model lenet --write-lanes a.html
dry-run --model lenet --write-ranks a.html
dry-run --model lenet --bandwidth 1GiB
dry-run --model lenet --device-memory 0
dry-run --model lenet --no-bfc-growth
dry-run --model lenet --engines fitting
dry-run --model lenet --engines measured
dry-run --model lenet --engines fitting --budgets --workspace 1MiB
dry-run --model lenet --device cuda
dry-run --model lenet --insize 3
dry-run --model lenet --fused-update --micro-batches 2
dry-run --model lenet --memory 1MiB --recompute 3
dry-run --model lenet --write-trace nowhere/trace.csv
graph --model lenet --fused-update --micro-batches 2
check-data
reproduce olla --batch-sizes 3
plan nowhere.csv --explain page.txt
"""


def all_cases(inputs):
    """Short ones first."""
    yield from help_cases()
    for line in WRONG_USAGE.split("\n")[1:-1]:
        yield commands_case("none", "wrong-usage", line.split(), code=2)
    yield from lab_commands(inputs)
    yield from run_commands(inputs)
    yield from dry_run_commands(inputs)
    yield from resume_cases(inputs)
    yield from training_cases(inputs)
    yield from model_commands(inputs)


# ---- Running ----

def said_by(failure):
    kind = "" if isinstance(failure, Failure) else f"{type(failure).__name__}: "
    return f"{kind}{failure}"


def outcome(case, programs, folder):
    """Returns the two results, or the failures by side."""
    failures = {}
    try:
        given = case.prepare()
    except FAILURES as failure:
        return None, {"old, to prepare": said_by(failure)}
    for word in given if isinstance(given, list) else []:
        case.name = case.name.replace(BUDGET, str(word)) if str(word).endswith("KiB") else case.name
    results = {}

    def of(side):
        try:
            results[side] = case.result(Side(programs[side], folder / side), given)
        except FAILURES as failure:
            failures[side] = said_by(failure)

    with concurrent.futures.ThreadPoolExecutor(2) as both:
        list(both.map(of, programs))
    return results, failures


def chosen(cases, arguments):
    models = arguments.models.split(",") if arguments.models else None
    groups = arguments.sets.split(",") if arguments.sets else None
    cases = list(cases)
    for name, known in ((models, {c.model for c in cases}), (groups, {c.group for c in cases})):
        for word in name or []:
            if word not in known:
                raise SystemExit(f"unknown: {word}; known: {', '.join(sorted(known))}")
    quick = not (arguments.all or models or groups or arguments.only)
    return [c for c in cases if (not quick or c.quick) and (not models or c.model in models) and
            (not groups or c.group in groups) and (arguments.only or "") in f"{c.group}: {c.name}"]


def recomputed(results):
    """Says whether a budget changes the step: with 0 the case shows little."""
    printed = (results or {}).get("old", {}).get("json")
    budget = printed.get("budget") if isinstance(printed, dict) else None
    return f"; recomputes {budget['recomputed']}" if budget else ""


def report(results, failures, most):
    """Returns same, DIFFERENT or FAILED, and the lines that say why."""
    if failures:
        return "FAILED", [f"{side}: {failure}" for side, failure in failures.items()]
    found = list(differences(results["old"], results["new"]))
    if not found:
        return "same", []
    more = [f"and {len(found) - most} more"] if len(found) > most else []
    return "DIFFERENT", found[:most] + more


def compared(programs, arguments, most=8):
    """Runs the chosen cases; returns how many were the same, different and failed."""
    counts = {"same": 0, "DIFFERENT": 0, "FAILED": 0}
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="same_bits") as top:
        inputs = Inputs(programs["old"], pathlib.Path(top) / "inputs")
        cases = chosen(all_cases(inputs), arguments)
        if arguments.list:
            print("\n".join(f"{case.group}: {case.name}" for case in cases))
            return counts
        for number, case in enumerate(cases, 1):
            folder = pathlib.Path(top) / "case"
            results, failures = outcome(case, programs, folder)
            shutil.rmtree(folder, ignore_errors=True)
            verdict, lines = report(results, failures, most)
            counts[verdict] += 1
            print(f"[{number}/{len(cases)} {time.monotonic() - begin:4.0f} s] {verdict:9} "
                  f"{case.group}: {case.name}{recomputed(results)}", flush=True)
            for line in lines:
                print("    " + str(line).replace("\n", "\n    "), flush=True)
    print(f"{counts['same']} same, {counts['DIFFERENT']} different, {counts['FAILED']} failed")
    return counts


# ---- That differences are found ----

WRAPPER = """#!{python}
import json, pathlib, subprocess, sys
words = sys.argv[1:]
{before}
done = subprocess.run([{program!r}, *words], capture_output=True, text=True)
out, err, code = done.stdout, done.stderr, done.returncode
{after}
sys.stdout.write(out), sys.stderr.write(err)
sys.exit(code)
"""
OF_JSON = "if '--json' in words:\n  said = json.loads(out)\n  {}\n  out = json.dumps(said)"


@dataclasses.dataclass
class Change:
    """What a program does differently, the case that shows it, and what must be said of it."""
    what: str
    only: str
    verdict: str
    named: str = ""
    before: str = ""
    after: str = ""
    side: str = "new"


CHANGES = [
    Change("nothing", "default: train --model lenet", "same"),
    Change("nothing", "resume: train --resume, of seq2seq ranks, after", "same"),
    Change("its clocks", "dry-run: dry-run --threads 1 --model lenet --order", "same",
           after=OF_JSON.format("said['seconds'] += 1")),
    Change("a byte of the peak", "dry-run: dry-run --threads 1 --model lenet --order", "DIFFERENT",
           "json.peak: old", after=OF_JSON.format("said['peak'] += 1")),
    Change("an integer's type", "dry-run: dry-run --threads 1 --model lenet --order", "DIFFERENT",
           "json.peak: old", after=OF_JSON.format("said['peak'] += 0.0")),
    Change("a key less", "plan: plan --planner exact", "DIFFERENT", "json.gap: old",
           after=OF_JSON.format("del said['gap']")),
    Change("a key more", "plan: plan --planner exact", "DIFFERENT", "json.more: old absent",
           after=OF_JSON.format("said['more'] = 1")),
    Change("the text", "plan: plan --planner exact", "DIFFERENT", "text[",
           after="if '--json' not in words: out = out.replace('lower bound', 'bound')"),
    Change("the seed", "default: train --model lenet", "DIFFERENT", "losses[0]: old",
           before="words += ['--seed', '1']"),
    Change("a plan's offset", "default: train --model lenet", "DIFFERENT", "plan.csv[",
           after="f = pathlib.Path('run/plan.csv'); t = f.read_text().replace(',0,', ',512,', 1)\n"
                 "f.write_text(t)"),
    Change("a bit of a weight", "default: train --model lenet", "DIFFERENT", "weights.",
           after="f = pathlib.Path('run/checkpoints/latest/weights.safetensors')\n"
                 "b = bytearray(f.read_bytes()); b[-1] ^= 1; f.write_bytes(b)"),
    Change("a page's figure", "default: train --model lenet", "DIFFERENT", "report.html.",
           after="f = pathlib.Path('run/report.html'); t = f.read_text()\n"
                 "f.write_text(t.replace('\"peak\":', '\"peak\":1', 1))"),
    Change("the case of a page's key", "default: train --model lenet", "same",
           after="f = pathlib.Path('run/report.html'); t = f.read_text()\n"
                 "f.write_text(t.replace('\"residentBytes\":', '\"resident_bytes\":'))"),
    Change("the budget", "memory: train --model lenet", "DIFFERENT", "json.budget",
           before="words = ['1000MiB' if w.endswith('KiB') else w for w in words]"),
    Change("a resumed rate", "of lenet memory, before evaluation", "DIFFERENT", "losses[",
           before="words += ['--lr', '0.5'] if '--resume' in words else []"),
    Change("a message", "wrong-usage: train --model lenet --engines fitting", "DIFFERENT",
           "message[", after="err = err.replace('needs', 'wants')"),
    Change("its exit code", "plan: plan --planner exact", "FAILED", "new: skyline plan",
           after="code = 3"),
    Change("its exit code", "plan: plan --planner exact", "FAILED", "old", after="code = 3",
           side="old"),
    Change("that it writes no log", "default: train --model lenet", "FAILED", "log.jsonl",
           after="pathlib.Path('run/log.jsonl').unlink()"),
]


def self_test(program):
    """Compares the program with itself, changed in one way at a time."""
    wrong = 0
    with tempfile.TemporaryDirectory(prefix="same_bits") as top:
        for change in CHANGES:
            wrapper = pathlib.Path(top) / "skyline"
            wrapper.write_text(WRAPPER.format(python=sys.executable, program=program,
                                              before=change.before, after=change.after))
            wrapper.chmod(0o755)
            programs = {"old": program, "new": program, change.side: str(wrapper)}
            said = io.StringIO()
            with contextlib.redirect_stdout(said):
                counts = compared(programs, argparse.Namespace(
                    all=False, models=None, sets=None, only=change.only, list=False))
            found = [verdict for verdict, count in counts.items() if count]
            passed = found == [change.verdict] and change.named in said.getvalue()
            wrong += not passed
            print(f"{'passed' if passed else 'FAILED'}  {change.side} changes {change.what}: "
                  f"{change.verdict} {change.named}", flush=True)
            if not passed:
                print(said.getvalue())
    print(f"{len(CHANGES) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", help="program to compare with")
    parser.add_argument("new", nargs="?", help="program to compare")
    parser.add_argument("--all", action="store_true", help="run every case")
    parser.add_argument("--models", help="only these, between commas; none: cases without a model")
    parser.add_argument("--sets", help="only these option sets or groups, between commas")
    parser.add_argument("--only", help="only cases whose line has this text")
    parser.add_argument("--list", action="store_true", help="name the cases and run none")
    parser.add_argument("--self-test", action="store_true", help="show that differences are found")
    arguments = parser.parse_args()
    if (arguments.new is None) != arguments.self_test:
        parser.error("give OLD and NEW, or one program and --self-test")
    programs = {"old": arguments.old, "new": arguments.new or arguments.old}
    for side, program in programs.items():
        programs[side] = str(pathlib.Path(program).resolve())
        if not os.access(programs[side], os.X_OK) or not os.path.isfile(programs[side]):
            parser.error(f"{side}: no program '{program}'")
    if arguments.self_test:
        return self_test(programs["old"])
    counts = compared(programs, arguments)
    return 1 if counts["DIFFERENT"] or counts["FAILED"] else 0


if __name__ == "__main__":
    sys.exit(main())
