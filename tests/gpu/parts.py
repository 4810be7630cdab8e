"""The parts of tests/gpu.sh, in the order of what they are worth. tests/gpu.sh explains them.

    python3 parts.py FOLDER [--rehearse] [PART ...]

FOLDER holds our programs, or is the file that `gpu.sh --pack` made.
"""

import argparse
import concurrent.futures
import dataclasses
import importlib.util
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

from run import Ended, LeftOut, NoDevice, Run
from shards import ALONE, TESTS, findings, matching, run_tests, tests_of

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKYLINE = "train/skyline"
BENCHMARK = "tests/benchmarks/cuda_step_benchmark"
VERSIONS = {TESTS: "--gtest_list_tests", SKYLINE: "--version", BENCHMARK: "--help"}

SANITIZED_SHARDS = 4
# This test asks for more memory than the card then has.
TOO_LARGE = ("*NeedsNoMemoryBesideTheLogits",)
BASICS = {"memory": ("*DeviceMemory*",), "products": ("*Linear*",), "convolutions": ("*Conv2d*",),
          "lstm": ("*Lstm*",), "uploads": ("*Uploads*", "*PrefetchedInputs*", "*AsksTheDriver*")}
# One test a family of kernels, and whole steps.
MEMCHECKED = (
    "Networks/CudaTraining.MatchesTheCpu/lenet", "CudaTranslation.MatchesTheCpu",
    "Networks/Conv2dAll.EveryGradientElementEqualsTheReference/lenet_conv2",
    "Networks/LinearAll.EveryGradientElementEqualsTheReferenceAndRepeats/lenet_fc1",
    "Shapes/BatchNorm.EveryGradientElementAndTheMomentsEqualTheReference/3x3x5x7",
    "Shapes/Pool2d.EveryGradientElementAndEveryWinnerEqualTheReference/lenet_pool1",
    "Shapes/LocalResponseNorm.EqualsTheReferenceAndItsFiniteDifferences/two_channels",
    "SoftmaxCrossEntropy.MatchesReference", "Lstm.MatchesReference", "Embedding.MatchesReference",
    "Adam.MatchesReference", "Dropout.MatchesReferenceOnImages")
SENTENCES = ("one two three four", "un deux trois quatre")
OTHER_WORDS = 2  # of a vocabulary: the end of a sentence and the unknown word
CLASSES = 10  # of generated images
# How far the card's losses may be from the CPU's, relative to each. Roundings that relus and
# normalizations of few pixels magnify move later ones: those of resnet50 by 0.6 % in its second
# step and 1.9 % in its third between two kernels of the CPU itself.
CLOSE = (1e-3, 5e-2, 5e-2)


@dataclasses.dataclass(frozen=True)
class Networks:
    """What the parts run."""

    smoke: tuple = (("lenet", 32), ("resnet20", 32), ("seq2seq", 32), ("resnet50", 32))
    checked: tuple = ("lenet", "resnet20")
    same_bits: tuple = (("lenet", 16), ("resnet20", 16), ("seq2seq", 16), ("resnet50", 16))
    graphs: tuple = (("lenet", 16), ("resnet20", 16), ("seq2seq", 16))
    foreseen: tuple = (("lenet", 16), ("resnet50", 16), ("seq2seq", 16))
    engines: object = None  # a file in place of a run's, which has none on an emulated device
    profiled: tuple = (("resnet50", 128), ("resnet20", 32))
    steps: tuple = ("--steps", "5")
    trained: str = "resnet20"
    length: tuple = ("--epochs", "1")
    text: tuple = ("--units", "256", "--layers", "2")
    tests: tuple = ("*",)
    left_out: tuple = TOO_LARGE


REHEARSED = Networks(
    smoke=(("mlp", 4), ("seq2seq", 2)), checked=("mlp",), same_bits=(("mlp", 4), ("seq2seq", 2)),
    graphs=(("mlp", 4), ("seq2seq", 2)), foreseen=(("mlp", 4), ("seq2seq", 2)),
    engines=ROOT / "tests/benchmarks/h100.json",
    profiled=(("mlp", 4),), steps=("--steps", "1", "--peak-extent", "64"), trained="mlp",
    length=("--steps", "3", "--batch-size", "4", "--images", "64"),
    text=("--units", "8", "--layers", "1"), tests=("*Relu*",),
    left_out=(*TOO_LARGE, "*WhenParallel*", "Networks/*"))


@dataclasses.dataclass
class Part:
    name: str
    seconds: float  # what it may take where there is no time to lose
    least: float  # seconds below which it is not worth to begin
    by_default: bool
    act: object  # act(card) returns whether all went well, or raises LeftOut


PARTS = {}


def part(name, seconds, least=2, by_default=True):
    def add(act):
        PARTS[name] = Part(name, seconds, least, by_default, act)
        return act
    return add


class Card(Run):
    """A run on one card, or on the emulated one, with what is installed beside it."""

    def __init__(self, folder, rehearses, parts):
        super().__init__(folder, rehearses, sum(PARTS[name].seconds for name in parts))
        self.networks = REHEARSED if rehearses else Networks()
        self.python = os.environ.get("SKYLINE_PYTHON") or sys.executable
        compiler = shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self.toolkit = pathlib.Path(os.path.realpath(compiler)).parents[1]
        places = [os.environ.get("PATH", ""), f"{self.toolkit}/bin",
                  f"{self.toolkit}/compute-sanitizer"]
        self.sanitizer = None if rehearses else shutil.which("compute-sanitizer",
                                                             path=os.pathsep.join(places))
        self.libraries = ""
        self.torch = None  # the outcome of asking for it

    def find_libraries(self):
        """PyTorch and Skyline use the same cuBLAS and cuDNN where Python has those of this toolkit's
        major version."""
        folders = [self.folder / "lib", *python_libraries(self.toolkit_version()),
                   *filter(None, os.environ.get("LD_LIBRARY_PATH", "").split(":")),
                   self.toolkit / "lib64", self.toolkit / "lib"]
        self.libraries = ":".join(map(str, folders))
        self.tell("libraries: " + " ".join(str(path) for path in folders if os.path.isdir(path)))

    def toolkit_version(self):
        try:
            text = subprocess.run([self.toolkit / "bin/nvcc", "--version"], capture_output=True,
                                  text=True, timeout=20).stdout
        except (OSError, subprocess.TimeoutExpired):
            return ""
        found = re.search(r"release (\d+)", text)
        return found[1] if found else ""

    def network(self, model, batch):
        """Options of a network with generated data. All sentences of a text are as long."""
        options = ["--model", model, "--batch-size", str(batch)]
        if model != "seq2seq":
            return options + ["--data", "shapes"]
        pairs = self.scratch / "pairs.tsv"
        if not pairs.exists():
            pairs.write_text(f"{SENTENCES[0]}\t{SENTENCES[1]}\n" * 16 * batch)
        return options + ["--data", str(pairs), "--val-data", str(pairs), *self.networks.text]

    def foreseen_network(self, model, batch):
        """The same for a dry run, which knows no data but its extents."""
        options = ["--model", model, "--batch-size", str(batch)]
        if model != "seq2seq":
            return options + ["--classes", str(CLASSES)]
        words = len(SENTENCES[0].split())
        return options + [*self.networks.text, "--sentence-words", str(words), "--vocab-size",
                          str(words + OTHER_WORDS)]

    def why(self, what, outcome):
        self.tell(f"  {what}: {outcome.reason()}")


def python_libraries(version):
    """The library folders of Python's CUDA packages, if they are of this major version."""
    found = importlib.util.find_spec("nvidia")
    folders = [folder for root in (found.submodule_search_locations if found else [])
               for folder in sorted(pathlib.Path(root).glob("*/lib"))]
    fitting = any(list(folder.glob(f"libcublasLt.so.{version or '*'}")) for folder in folders)
    return folders if fitting else []


# Whether it trains


def losses_of(answer, allocator="planned"):
    run = (answer or {}).get("allocators", {}).get(allocator, {})
    return run.get("losses") or []


def difference_of(got, expected):
    """Says where one of the first losses differs by more than CLOSE, or a loss is not finite."""
    for step, (loss, wanted) in enumerate(zip(got, expected), 1):
        if loss is None or not math.isfinite(loss):
            return f"loss of step {step} is {loss}"
        if step <= len(CLOSE) and not abs(loss - wanted) <= CLOSE[step - 1] * abs(wanted):
            return f"loss of step {step} is {loss:.6f}, the CPU's {wanted:.6f}"
    return "" if got and len(got) == len(expected) else f"{len(got)} losses of {len(expected)}"


@part("smoke", 45)
def smoke(card):
    """Networks train from a plan, with the CPU's losses."""
    names = [model for model, _ in card.networks.smoke]
    commands = {model: ["compare", *card.network(model, batch), "--steps", "6", "--allocators",
                        "planned"] for model, batch in card.networks.smoke}
    good = True
    triage = Triage(card)
    with concurrent.futures.ThreadPoolExecutor(1) as beside:
        on_cpu = {model: beside.submit(card.json, *commands[model], log=f"smoke.{model}.cpu")
                  for model in names}
        for model in names:
            command = [*commands[model], "--device", "cuda"]
            try:
                answer, outcome = card.json(*command, log=f"smoke.{model}")
            except NoDevice:
                card.part_ends = time.monotonic()  # for the CPU's steps, too
                raise
            expected, cpu_outcome = on_cpu[model].result()
            if not outcome.good or not cpu_outcome.good:
                problem = (outcome if not outcome.good else cpu_outcome).reason()
                if outcome.good:
                    problem = "the CPU's steps: " + problem
            else:
                problem = difference_of(losses_of(answer), losses_of(expected))
            card.tell(f"  {model}: {problem}" if problem else f"  {model}: losses as the CPU's: "
                      + " ".join(f"{loss:.4f}" for loss in losses_of(answer)))
            if problem:
                good = False
                triage.once(command)
    for model in card.networks.checked:
        command = ["train", *card.network(model, 16), "--images", "64", "--steps", "4",
                   "--device", "cuda", "--guard", "--check", "--output", card.scratch / model]
        outcome = card.ours(SKYLINE, *command, log=f"smoke.{model}.guarded")
        if not outcome.good:
            card.why(f"{model} with guards", outcome)
            good = False
            triage.once(command)
    return good


class Triage:
    """Runs the first command that failed once more, where it shows why."""

    def __init__(self, card):
        self.card, self.done = card, False

    def once(self, command):
        if self.done or self.card.stopping.is_set():
            return
        self.done = True
        card = self.card
        card.extend_part(80)
        outcome = card.ours(SKYLINE, *command, log="smoke.triage.blocking", seconds=40,
                            environment={"CUDA_LAUNCH_BLOCKING": "1"})
        card.tell("  each launch waited for: " +
                  ("passes" if outcome.good else outcome.reason()))
        if not card.sanitizer:
            card.tell("  under memcheck: left out: no compute-sanitizer in the toolkit")
            return
        outcome = card.ours(SKYLINE, *command, log="smoke.triage.memcheck", seconds=40,
                            under=[card.sanitizer, "--tool", "memcheck", "--report-api-errors", "no"])
        found = findings(outcome.text)
        card.tell("  under memcheck: " + ("; ".join(found[:5]) or (
            "no finding" if outcome.good else outcome.reason())))


# Tests


@part("basics", 30)
def basics(card):
    """The tests of what the rest stands on."""
    return test_subjects(card, "basics", *BASICS)


def test_subjects(card, what, *subjects):
    patterns = [pattern for subject in subjects for pattern in BASICS[subject]]
    return run_tests(card, what, matching(tests_of(card), patterns, card.networks.left_out))[0]


for subject in BASICS:
    part(subject, 30, by_default=False)(
        lambda card, subject=subject: test_subjects(card, subject, subject))


@part("tests", 60)
def other_tests(card):
    """All other tests, whole trainings among them."""
    but = card.networks.left_out + sum(BASICS.values(), ())
    return run_tests(card, "tests", matching(tests_of(card), card.networks.tests, but))[0]


# The same bits, and what was foreseen


@part("bits", 25)
def bits(card):
    """The same losses, parameters and state under every allocator."""
    good = True
    for model, batch in card.networks.same_bits:
        answer, outcome = card.json(
            "compare", *card.network(model, batch), "--steps", "6", "--device", "cuda",
            "--deterministic", "--allocators", "planned,cuda-async,best-fit-pool,caching,exact-pool,bfc,network-wise",
            log=f"bits.{model}")
        runs = (answer or {}).get("allocators", {})
        computed = {(tuple(run.get("losses", [])), run.get("parameters_sha256"),
                     run.get("state_sha256")) for run in runs.values()}
        same = outcome.good and len(runs) == 7 and len(computed) == 1
        card.tell(f"  {model}: {len(runs)} allocators, " +
                  ("the same bits" if same else "other bits" if outcome.good or len(computed) > 1
                   else outcome.reason()))
        good = good and same
    return good


@part("graph", 15)
def graph(card):
    """The same losses and parameters when ops are launched as graphs."""
    good = True
    for model, batch in card.networks.graphs:
        runs = {}
        for way in ("ops", "graphs"):
            out = card.scratch / f"{model}-{way}"
            size = [] if model == "seq2seq" else ["--images", "64"]
            answer, outcome = card.json(
                "train", *card.network(model, batch), *size, "--steps", "10", "--device", "cuda",
                "--deterministic", "--output", out, *["--graph"] * (way == "graphs"),
                log=f"graph.{model}.{way}")
            runs[way] = (answer or {}, outcome, computed_by(out))
        failed = [way for way, (_, outcome, _) in runs.items() if not outcome.good]
        launches = runs["graphs"][0].get("launches_of_last_step") or {}
        same = runs["ops"][2] == runs["graphs"][2] and runs["ops"][2]
        if failed:
            card.why(f"{model} by {failed[0]}", runs[failed[0]][1])
        else:
            ms = [1e3 * run[0].get("step_seconds_median", math.nan) for run in runs.values()]
            card.tell(f"  {model}: {'the same bits' if same else 'other bits'}, the last step "
                      f"launched {launches.get('graphs', 0)} graphs and {launches.get('ops', 0)} "
                      f"ops; {ms[0]:.2f} ms a step by ops, {ms[1]:.2f} ms by graphs")
        good = good and not failed and bool(same) and launches.get("graphs", 0) > 0
    return good


def computed_by(run_folder):
    """Each step's loss, and the tensors of the last checkpoint; its texts have clocks in them."""
    try:
        losses = re.findall(r'"loss": ?([^,}]+)', (run_folder / "log.jsonl").read_text())
        files = sorted((run_folder / "checkpoints/latest").glob("*.safetensors"))
        return losses, [(path.name, tensors_of(path.read_bytes())) for path in files]
    except OSError:
        return None


def tensors_of(file):
    """The bytes of a safetensors file after its header."""
    return file[8 + int.from_bytes(file[:8], "little"):]


@part("dry-run", 15)
def dry_run(card):
    """A dry run foresees what a run reserves, and each of its requests."""
    good, engines = True, card.networks.engines
    for model, batch in card.networks.foreseen:
        out, trace = card.scratch / model, card.scratch / f"{model}.csv"
        # An adopted plan would leave the requests of text unrecorded.
        size = ["--policy", "grow"] if model == "seq2seq" else ["--images", "64"]
        ran, outcome = card.json("train", *card.network(model, batch), *size, "--steps", "3",
                                 "--device", "cuda", "--output", out, log=f"dry-run.{model}.run")
        if not outcome.good:
            card.why(model, outcome)
            good = False
            continue
        if not card.rehearses and (out / "engines.json").exists():  # text has no convolutions
            engines = out / "engines.json"
            card.keep(engines, f"dry-run.{model}.engines.json")
        foreseen, outcome = card.json(
            "dry-run", *card.foreseen_network(model, batch), "--device", "cuda", "--engines",
            engines, "--allocators", "planned", "--write-trace", trace, log=f"dry-run.{model}")
        problem = (disagreement(ran, foreseen, out / "trace.csv", trace) if outcome.good
                   else outcome.reason())
        card.tell(f"  {model}: {problem}" if problem else
                  f"  {model}: {ran['memory']['peak_reserved_after_switch']} bytes and each "
                  f"request as foreseen")
        good = good and not problem
    return good


def disagreement(ran, foreseen, trace, foreseen_trace):
    """Says what a dry run foresaw wrongly; "" if all is equal."""
    reserved = ran["memory"]["peak_reserved_after_switch"]
    foreseen_bytes = foreseen["allocators"]["planned"]["peak_reserved"]
    if reserved != foreseen_bytes:
        return f"the run reserves {reserved} bytes, the dry run foresaw {foreseen_bytes}"
    if not ran["trace_recorded"]:
        return "the run recorded no step"
    ran, foreseen = (path.read_text().splitlines() for path in (trace, foreseen_trace))
    for line, (one, other) in enumerate(zip(ran, foreseen), 1):
        if one != other:
            return f"line {line} of the trace is {one}, the dry run foresaw {other}"
    return "" if len(ran) == len(foreseen) else f"{len(ran)} lines, foreseen {len(foreseen)}"


# Speed


def profile(card, name, *options):
    """Where the time of a step goes, with cuDNN's choice of engines and, for the first network, with
    the fastest."""
    runs = [(*network, "heuristics") for network in card.networks.profiled]
    runs.insert(1, (*card.networks.profiled[0], "measured"))
    good = True
    for model, batch, engines in runs:
        log = f"{name}.{model}.{engines}"
        file = card.scratch / f"{log}.engines.json"
        outcome = card.ours(BENCHMARK, model, *card.networks.steps, "--batches", str(batch),
                            "--allocators", "planned", "--profile", "--engines", engines,
                            "--write-engines", file, *options, log=log)
        rows = re.findall(r"^planned .*", outcome.out, re.M)
        ops = re.findall(r"^\S.* ms +[\d.]+ %$", outcome.out, re.M)
        if outcome.good and rows:
            card.tell("\n".join(f"  {model}, engines {engines}: {row}" for row in rows))
            card.tell("\n".join(f"    {row}" for row in ops[:8] + ops[-1:]))
            card.keep(file, file.name)
        else:
            card.why(f"{model}, engines {engines}", outcome)
            good = False
    return good


@part("profile-tf32", 30, least=10)
def profile_tf32(card):
    return profile(card, "profile-tf32", "--tf32")


@part("profile-fp32", 30, least=10)
def profile_fp32(card):
    return profile(card, "profile-fp32")


def require_torch(card):
    """Asks once: an import takes seconds."""
    if card.torch is None:
        card.torch = card.execute([card.python, "-c", "import torch, torchvision\nassert "
                                   "torch.cuda.is_available(), 'torch sees no CUDA device'"], "torch")
    if not card.torch.good:
        raise LeftOut(f"no torch and torchvision that see the device: {card.torch.reason()}")


def beside_pytorch(card, log, *arguments, flags="--prefetch"):
    """Takes turns with PyTorch. Our plain flags are for time, frugal ones for bytes."""
    program = card.scratch / "ours"
    program.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH="{card.libraries}" exec '
                       f'"{card.folder / BENCHMARK}" "$@"\n')
    program.chmod(0o755)
    outcome = card.execute(
        [card.python, "-B", ROOT / "tests/benchmarks/pytorch/pytorch_step.py", "--ours", program,
         "--device", "cuda", "--steps", "3", f"--our-flags={flags}", *arguments], log)
    for line in outcome.out.splitlines():
        card.tell(f"  {line}")
    if not outcome.good:
        card.why(" ".join(map(str, arguments)), outcome)
    return outcome.good


def pytorch(card, name, *options):
    require_torch(card)
    plain = ["--batches", "128", *options, "resnet50"]
    for_time = beside_pytorch(card, f"{name}.time", "--variants", "eager,channels-last", *plain)
    for_bytes = beside_pytorch(card, f"{name}.bytes", "--variants", "channels-last", "--steps", "1",
                               *plain, flags="--recompute 4 --fused-update")
    return for_time and for_bytes


@part("pytorch-tf32", 70, least=30)
def pytorch_tf32(card):
    return pytorch(card, "pytorch-tf32", "--tf32")


@part("pytorch-fp32", 70, least=30)
def pytorch_fp32(card):
    return pytorch(card, "pytorch-fp32")


@part("pytorch-compile", 120, least=40)
def pytorch_compile(card):
    """Compiling takes longest, so it is last."""
    require_torch(card)
    return beside_pytorch(card, "pytorch-compile", "--variants", "torch.compile", "--batches", "128",
                          "--tf32", "resnet50")


# compute-sanitizer


def sanitize(card, tool, what, names):
    """memcheck checks all kernels, racecheck only ours. initcheck must see the writes of all
    kernels, but only findings in ours count. Refused allocations are intended, so API errors are
    not reported."""
    if not card.sanitizer:
        raise LeftOut("no compute-sanitizer in the toolkit")
    checker = [card.sanitizer, "--tool", tool, "--report-api-errors", "no"]
    checker += {"memcheck": ["--error-exitcode", "9", "--print-limit", "20",
                             "--destroy-on-device-error", "kernel"],  # others still run
                "racecheck": ["--error-exitcode", "9", "--print-limit", "20",
                              "--kernel-regex", "kns=skyline"],
                "initcheck": ["--print-limit", "5000"]}[tool]
    good, text = run_tests(card, what, names, SANITIZED_SHARDS, checker)
    found = findings(text)
    if tool == "initcheck":
        found = [line for line in found if "skyline" in line]
    for line in found[:40]:
        card.tell(f"  {line}")
    return good and not found


def sanitized_tests(card, but=()):
    return matching(tests_of(card), ("*",), TOO_LARGE + ALONE + ("*Paper*", "*WhenParallel*") + but)


# The tests of ops run the same kernels.
NETWORKS_AND_MEMORY = ("*Cuda*Tra*", "*CudaGraph*", "*CudaMeasured*", "*CudaDryRun*",
                       "*Conformance*")


@part("memcheck", 45, least=15)
def memcheck(card):
    """Some tests of each kind."""
    if not card.sanitizer:
        raise LeftOut("no compute-sanitizer in the toolkit")
    missing = set(MEMCHECKED) - set(tests_of(card))
    if missing:
        raise RuntimeError(f"memcheck asks for tests that do not exist: {', '.join(sorted(missing))}")
    return sanitize(card, "memcheck", "memcheck", list(MEMCHECKED))


@part("figure-3", 120, least=40)
def figure_3(card):
    """PGMO's figure 3: seconds and the largest batch, from the pool and planned."""
    if card.rehearses:
        raise LeftOut("an emulated device computes these networks for hours")
    out = card.scratch / "pgmo"
    outcome = card.ours(SKYLINE, "reproduce", "pgmo", "--measure", "--device", "cuda", "--steps", "4",
                        "--batch-sizes", "128", "--output", out, log="figure-3")
    if not outcome.good:
        card.why("figure 3", outcome)
        return False
    card.keep(out / "pgmo.json", "figure-3.json")
    card.tell("\n".join(f"  {row}" for row in re.findall(r"^\([ab]\) .*", outcome.out, re.M)))
    return True


@part("pytorch-networks", 120, least=30)
def pytorch_networks(card):
    """The other networks beside PyTorch."""
    require_torch(card)
    options = ("--tf32", "--batches", "64", "--steps", "2", "--variants", "eager,channels-last")
    images = beside_pytorch(card, "pytorch-networks.images", *options, "googlenet", "alexnet",
                            "inception-resnet")
    return beside_pytorch(card, "pytorch-networks.seq2seq", *options, "seq2seq", flags="") and images


@part("train", 60)
def train(card):
    """The program itself: a whole training, a text, and an interrupt that loses nothing."""
    networks, good = card.networks, True
    out = card.scratch
    text = card.network("seq2seq", 2 if card.rehearses else 64)
    runs = {"images": ["--model", networks.trained, "--data", "shapes", *networks.length],
            "text": [*text, "--steps", "20", "--policy", "upper-bound"]}
    for what, arguments in runs.items():
        outcome = card.ours(SKYLINE, "train", *arguments, "--device", "cuda", "--output",
                            out / what, log=f"train.{what}")
        card.tell(f"  {what}: " + (last_line(outcome.out) if outcome.good else outcome.reason()))
        good = good and outcome.good
    outcome = card.ours(SKYLINE, "train", "--model", networks.trained, "--data", "shapes",
                        "--epochs", "1000", "--device", "cuda", "--output", out / "interrupted",
                        log="train.interrupted",
                        interrupt=lambda: size_of(out / "interrupted/log.jsonl") > 0)
    saved = outcome.status == 130 and (out / "interrupted/checkpoints/latest").exists()
    card.tell("  an interrupt " + ("saves its work" if saved else f"saved nothing: {outcome.reason()}"))
    return good and saved


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def last_line(text):
    lines = [line for line in text.splitlines() if " steps in " in line]
    return lines[-1] if lines else ""


@part("racecheck", 30, least=15)
def racecheck(card):
    return sanitize(card, "racecheck", "racecheck", sanitized_tests(card, NETWORKS_AND_MEMORY))


@part("initcheck", 60, least=30)
def initcheck(card):
    return sanitize(card, "initcheck", "initcheck", sanitized_tests(card, NETWORKS_AND_MEMORY))


@part("memcheck-all", 165, least=60)
def memcheck_all(card):
    """All tests, then steps in TF32."""
    good = sanitize(card, "memcheck", "memcheck-all", sanitized_tests(card))
    return check_tf32(card) and good


def check_tf32(card):
    """Library kernels that copy in bulk are reported where a tensor spans pieces of a mapped range,
    although they are right there: findings outside our kernels count only if they come again in one
    plain range."""
    for allocator in ("planned", "best-fit-pool"):
        outcome = card.ours(
            SKYLINE, "train", "--model", card.networks.trained, "--data", "shapes", "--steps", "3",
            "--batch-size", "16", "--images", "64", "--device", "cuda", "--tf32", "--allocator",
            allocator, "--output", card.scratch / f"memcheck-{allocator}",
            under=[card.sanitizer, "--tool", "memcheck", "--report-api-errors", "no",
                   "--print-limit", "20"], log=f"memcheck.tf32.{allocator}")
        found = findings(outcome.text)
        if not found:
            if not outcome.good:
                card.why(f"memcheck in TF32 with {allocator}", outcome)
            return outcome.good
        card.tell(f"  memcheck in TF32 with {allocator}:")
        for line in found[:20]:
            card.tell(f"    {line}")
        if any("skyline" in line for line in found):
            return False
    return False


GROUPS = {"profile": ("profile-tf32", "profile-fp32"),
          "pytorch": ("pytorch-tf32", "pytorch-fp32", "pytorch-compile"),
          "sanitizer": ("memcheck", "racecheck", "initcheck", "memcheck-all")}


# The run


def run_part(card, part):
    if card.left_of_all() < min(part.least, part.seconds * card.scale):
        card.note(f"{part.name} left out: no time")
        card.tell(f"== {part.name} left out: no time")
        return True
    card.note(f"{part.name} began")
    card.tell(f"== {part.name}")
    begin = time.monotonic()
    card.begin_part(part.seconds)
    try:
        result = "passed" if part.act(card) else "failed"
        if result == "failed" and card.left() <= 0:
            result = "out of time"
    except LeftOut as reason:
        result = f"left out: {reason}"
    except NoDevice as reason:
        result = f"failed: {reason}"
    except Ended:
        raise
    except Exception as error:  # a fault of one part spares the others
        card.tell(f"  {type(error).__name__}: {error}")
        result = "failed"
    seconds = time.monotonic() - begin
    card.note(f"{part.name} ended: {result} after {seconds:.0f} s")
    card.tell(f"== {part.name} {result} after {seconds:.1f} s")
    card.end_part()
    return result == "passed" or result.startswith("left out")


def unpack(card, packed):
    """Returns the folder of a packed file's programs. Python unpacks, because tar needs xz."""
    folder = card.temporary / "programs"
    with tarfile.open(packed) as archive:
        if hasattr(tarfile, "data_filter"):
            archive.extractall(folder, filter="data")
        else:
            archive.extractall(folder)
    return folder


def card_answers(card):
    """Names the card. nvidia-smi may lie beside the driver, outside PATH."""
    places = os.pathsep.join([os.environ.get("PATH", ""), "/usr/bin", "/usr/local/nvidia/bin",
                              "/usr/lib/wsl/lib", f"{card.toolkit}/bin"])
    program = shutil.which("nvidia-smi", path=places)
    if not program:
        return False
    outcome = card.execute([program, "--query-gpu=name,driver_version,memory.free",
                            "--format=csv,noheader"], "nvidia-smi", seconds=20)
    if outcome.good:
        card.tell(outcome.out.strip())
    return outcome.good


def programs_start(card):
    for program, asked in VERSIONS.items():
        outcome = card.ours(program, asked, log=f"start.{pathlib.Path(program).name}", seconds=30)
        if not outcome.good:
            card.tell(f"{program} does not start: {outcome.reason()}")
            return False
    return True


def warm(card):
    """Reads what parts load, so that no part is timed while a disk is cold."""
    libraries = [path for folder in card.libraries.split(":")
                 for path in pathlib.Path(folder).glob("lib*.so*")
                 if re.match(r"lib(cudnn|cublas)", path.name)]
    script = ("import sys, time\nbegin = time.time()\nfor path in sys.argv[1:]:\n"
              "  with open(path, 'rb') as file:\n    while file.read(1 << 24): pass\n"
              "print('libraries read in', time.time() - begin)\nimport torch\n"
              "print('torch imported after', time.time() - begin)\n")
    real = sorted({os.path.realpath(path) for path in libraries})
    pool = concurrent.futures.ThreadPoolExecutor(1)
    pool.submit(card.execute, [card.python, "-c", script, *real], "warm", 60)
    pool.shutdown(wait=False)


def run_parts(card, given, parts):
    if not card.rehearses and not card_answers(card):
        card.tell("no CUDA device answers: nothing was run")
        return 3
    if given.is_file():
        card.folder = unpack(card, given)
    card.find_libraries()
    if not programs_start(card):
        return 3
    if not card.rehearses:
        warm(card)
    good = [run_part(card, PARTS[name]) for name in parts]
    return 0 if all(good) else 1


def asked_parts(names):
    """The parts in the order given, or all in the order of their worth."""
    parts = []
    for name in names or [part.name for part in PARTS.values() if part.by_default]:
        if name not in PARTS and name not in GROUPS:
            print(f"unknown part '{name}'; known are: {' '.join([*PARTS, *GROUPS])}",
                  file=sys.stderr)
            sys.exit(2)
        parts += [each for each in GROUPS.get(name, (name,)) if each not in parts]
    return parts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--rehearse", action="store_true")
    parser.add_argument("parts", nargs="*")
    arguments = parser.parse_intermixed_args()
    given = arguments.folder.resolve()
    parts = asked_parts(arguments.parts)
    card = Card(given, arguments.rehearse, parts)
    try:
        status = run_parts(card, given, parts)
    except Ended as signal_:
        card.note(f"ended by {signal_}")
        card.tell(f"ended by {signal_}; what was finished is in the results")
        status = 128 + signal_.number
    finally:
        card.close()
    card.tell(f"results: {card.results}")
    return status


if __name__ == "__main__":
    sys.exit(main())
