"""Times training steps of Skyline and of PyTorch in turns on this machine.

    python3 pytorch_step.py --ours build/release/tests/benchmarks/cnn_step_benchmark [MODEL ...]
                            [--batch B] [--steps N] [--threads T] [--logits MODEL_LOGITS]
                            [--variants eager,channels-last,torch.compile]
                            [--allocators glibc,tcmalloc]
    python3 pytorch_step.py --ours build/release/tests/benchmarks/cuda_step_benchmark --device cuda
                            [--tf32] [MODEL ...] [--batches B,...] [--steps N]
                            [--our-flags="--recompute 4 --fused-update --prefetch"]

Both sides have the same networks, batch, threads, loss and optimizer (momentum 0.9, learning rate
1e-4; Adam for seq2seq, AdamW with clipped gradients for gpt-small) in float32, each in a process of its own. PyTorch runs eagerly in its
default layout (N C H W), eagerly channels-last, and channels-last through torch.compile, whose
first steps compile and are not timed; seq2seq runs eagerly only, gpt-small without channels-last. On the CPU, each of these runs
with glibc's allocator and with tcmalloc (Debian's libtcmalloc-minimal4, preloaded), as tuning
guides advise: six settings. A user would pick the fastest, so the last line of a network names it,
and what tcmalloc alone saves. Seconds are medians of the steps of N turns after two to warm up; a turn
is a step, or as many as a quarter of a second takes, of which the first does not count. The ratio is
PyTorch's seconds to ours: above 1, ours is faster. Page faults and the system's seconds are means
of its timed steps, as the kernel counts them. A network's last line also says which part of this
machine's peak, of a large product in the same run, our steps reach, and with which instructions.
`chain` is no network, but relus of one element, forward and backward: its line says how long each
side takes for an op. The last line of all averages the networks' ratios.

On the CPU, each setting first computes the logits of two images with weights that our program
model_logits (of the same build, or --logits) reads from a file, too. The largest difference,
divided by the largest logit, must be below 1e-4. This needs safetensors.

On a CUDA device each row names the precision of products and convolutions, the same on both sides:
fp32, or TF32 with --tf32, PyTorch's default for convolutions. Both sides choose engines by cuDNN's
heuristics and read the loss before backward. They wait for the device before and after each of N
runs of ten steps, so work that overlaps two steps counts. Images and labels come from the host in every step: PyTorch's are pinned beforehand,
ours are copied to pinned memory within the step. Sentences are packed beforehand, and PyTorch's are
already on the device. MiB are the bytes that the allocators hold on the device, without the
process's context: PyTorch's peak, and ours once steps run from the plan (the first step needs a
pool). Figures that do not fit stay empty. The exit code is 1 if one of our steps did not run.
"""

import argparse
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from pytorch_networks import NETWORKS, SMALL_NETWORKS, Seq2Seq, image_of
from torch_networks import GPT_SMALL, Gpt
from torch_logits import inputs, largest_difference, randomize_statistics, skyline_logits

WARM_UP_TURNS = 2
STEPS_OF_A_TURN = {"cpu": 1, "cuda": 10}
SECONDS_OF_A_TURN = 0.25  # on the CPU
LAYOUTS = {"eager": torch.contiguous_format, "channels-last": torch.channels_last,
           "torch.compile": torch.channels_last}
VARIANTS = list(LAYOUTS)
ALLOCATORS = {"glibc": {}, "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"}}
LARGEST_DIFFERENCE = 1e-4  # of a logit; rounding gives at most 2e-6 in README's table
SERVE = "--serve"
CHAIN = "chain"
GPT = "gpt-small"
# No logits are compared, and PyTorch runs in these ways only.
WITHOUT_IMAGES = {"seq2seq": ["eager"], CHAIN: ["eager"], GPT: ["eager", "torch.compile"]}
OUT_OF_MEMORY = "out of memory"


class PyTorchStep:
    """A network in training. run() runs one turn and returns the mean seconds of a step."""

    def __init__(self, model, batch, variant, device):
        self.model, self.layout, self.device = model, LAYOUTS[variant], device
        maker, image, classes = image_of(model)
        self.network = self.plain = maker().to(device, memory_format=self.layout)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=1e-4, momentum=0.9)
        if variant == "torch.compile":
            self.network = torch.compile(self.network, dynamic=False)
        images = torch.rand(batch, *image) * 2 - 1
        self.inputs = (images.contiguous(memory_format=self.layout),
                       torch.arange(batch) * 7 % classes)
        if device == "cuda":
            self.inputs = tuple(tensor.pin_memory() for tensor in self.inputs)

    def difference(self, program):
        """The largest difference of our program's logits with the same weights, two images."""
        randomize_statistics(self.plain)
        given = inputs(self.inputs[0].shape[1:])
        ours = skyline_logits(program, self.model, self.plain, given)
        self.network.eval()
        with torch.no_grad():
            theirs = self.network(given["images"].contiguous(memory_format=self.layout))
        self.network.train()
        return largest_difference(ours, theirs)

    def parameters(self):
        return sum(parameter.numel() for parameter in self.network.parameters())

    def loss(self):
        images, labels = (tensor.to(self.device, non_blocking=True) for tensor in self.inputs)
        output = self.network(images)
        heads = output if isinstance(output, tuple) else (output,)
        losses = [functional.cross_entropy(head, labels) for head in heads]
        return losses[0] if len(losses) == 1 else losses[0] + 0.3 * sum(losses[1:])

    def run(self):
        steps = STEPS_OF_A_TURN[self.device]
        wait(self.device)
        start = time.perf_counter()
        for _ in range(steps):
            self.optimizer.zero_grad()
            loss = self.loss()
            loss.item()
            loss.backward()
            self.optimizer.step()
        wait(self.device)
        return (time.perf_counter() - start) / steps

    def reserved_bytes(self):
        return torch.cuda.max_memory_reserved() if self.device == "cuda" else 0


class PyTorchTranslationStep(PyTorchStep):
    """The same for sentences of given lengths, with Adam instead of SGD. `size` has the words and
    units of another network than the default's."""

    def __init__(self, lengths, size, device):
        self.device = device
        self.network = Seq2Seq(*size).to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.batch = len(lengths[0])
        words = self.network.embed_x.num_embeddings
        self.source, self.target = (nn.utils.rnn.pack_sequence(
            [torch.randint(words, (length,), device=device) for length in side],
            enforce_sorted=False) for side in lengths)

    def difference(self, _):
        return None

    def loss(self):
        logits = self.network(self.source, self.target)
        return functional.cross_entropy(logits, self.target.data, reduction="sum") / self.batch


class PyTorchGptStep(PyTorchStep):
    """The same for windows of characters, with AdamW and clipped gradients."""

    def __init__(self, batch, variant, device):
        self.device, self.network = device, Gpt(**GPT_SMALL).to(device)
        self.optimizer = self.network.adamw(1e-3, 0.99, 0.1)
        shape = batch, GPT_SMALL["positions"]
        self.words, self.answers = (torch.randint(GPT_SMALL["words"], shape, device=device)
                                    for _ in range(2))
        loss = self.network.loss
        self.forward = torch.compile(loss, dynamic=False) if variant == "torch.compile" else loss
        step = self.optimizer.step
        self.optimizer.step = lambda: (
            torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0), step())

    def loss(self):
        return self.forward(self.words, self.answers)


class PyTorchChain(PyTorchStep):
    """Relus of one element and their gradients."""

    def __init__(self, ops):
        self.ops, self.x = ops, torch.ones(1, requires_grad=True)

    def parameters(self):
        return 1

    def run(self):
        start = time.perf_counter()
        y = self.x
        for _ in range(self.ops):
            y = torch.relu(y)
        y.backward()
        return time.perf_counter() - start

    def reserved_bytes(self):
        return 0


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


def serve(setting):
    """PyTorch's side: answers each line of input with the seconds of a step and reserved bytes."""
    torch.set_num_threads(setting["threads"])
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = setting["tf32"]
    try:
        if setting["model"] == "seq2seq":
            step = PyTorchTranslationStep(setting["lengths"], setting["size"], setting["device"])
        elif setting["model"] == GPT:
            step = PyTorchGptStep(setting["batch"], setting["variant"], setting["device"])
        elif setting["model"] == CHAIN:
            step = PyTorchChain(setting["batch"])
        else:
            step = PyTorchStep(setting["model"], setting["batch"], setting["variant"],
                               setting["device"])
        difference = step.difference(setting["logits"]) if setting["logits"] else None
        print(step.parameters(), "-" if difference is None else difference, flush=True)
        for _ in sys.stdin:
            print(step.run(), step.reserved_bytes(), flush=True)
    except torch.OutOfMemoryError as refusal:
        print(". ".join(str(refusal).split(". ")[:2]), file=sys.stderr)
        print(OUT_OF_MEMORY, flush=True)


class Ended(Exception):
    """A side has ended; it wrote the reason to standard error."""


class NoMemory(Exception):
    """A side has run out of memory and said so."""


class Side:
    """A process that trains. It answers each line, a number of steps, with the mean seconds of a
    step and, on a CUDA device, its reserved bytes. Raises Ended, NoMemory."""

    def __init__(self, command, device, environment=None):
        self.turn, self.bytes, self.steps = STEPS_OF_A_TURN[device], [], 0
        self.least_seconds = SECONDS_OF_A_TURN if device == "cpu" else 0
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env={**os.environ, **(environment or {})})

    @functools.cached_property
    def header(self):
        """Its first line, which it prints once it can train."""
        return self.answer()

    def answer(self):
        line = self.process.stdout.readline().strip()
        if line == OUT_OF_MEMORY:
            raise NoMemory
        if not line:
            raise Ended
        return line.split()

    def run(self):
        """Returns the seconds of each step of a turn. The first step finds what others left in the
        caches, so it does not count beside others."""
        seconds = [self.step()]
        while sum(seconds) < self.least_seconds:
            seconds.append(self.step())
        return seconds[1:] or seconds

    def step(self):
        try:
            self.process.stdin.write(f"{self.turn}\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Ended from None
        seconds, *self.bytes = self.answer()
        self.steps += self.turn
        return float(seconds)

    def kernel(self):
        """Steps, page faults and seconds in the system so far, of all its threads."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii")
        fields = text.rpartition(")")[2].split()
        return self.steps, int(fields[7]), int(fields[12]) / os.sysconf("SC_CLK_TCK")

    def reserved_bytes(self):
        return int(self.bytes[0]) if self.bytes else 0

    def close(self):
        """Returns the words of the last line, if any."""
        last, _ = self.process.communicate()
        return last.split()


def our_side(model, batch, arguments):
    command = [arguments.ours, model, SERVE]
    if arguments.device == "cuda":
        command += ["--batches", str(batch or 64)] + ["--tf32"] * arguments.tf32
    else:
        command += ["--threads", str(arguments.threads)]
        command += ["--batch", str(batch)] * bool(batch)
    return Side(command + arguments.our_flags.split(), arguments.device)


def their_side(model, variant, allocator, ours, arguments):
    batch, _, *more = ours.header
    setting = {"model": model, "variant": variant, "device": arguments.device,
               "threads": arguments.threads, "tf32": arguments.tf32, "batch": int(batch),
               "logits": None if model in WITHOUT_IMAGES else arguments.logits,
               "lengths": [[int(length) for length in side.split(",")] for side in more[:2]],
               "size": [int(number) for number in more[2:]]}
    return Side([sys.executable, "-B", __file__, SERVE, json.dumps(setting)], arguments.device,
                ALLOCATORS[allocator])


def take_turns(sides, turns):
    """Returns for each side the median seconds of a step, and the faults and the system's seconds
    of a step."""
    for _ in range(WARM_UP_TURNS):
        for side in sides:
            side.run()
    seconds, before = [[] for _ in sides], [side.kernel() for side in sides]
    for _ in range(turns):
        for taken, side in zip(seconds, sides):
            taken += side.run()
            time.sleep(0.02)  # lets threads that wait for work fall asleep
    figures = []
    for taken, side, first in zip(seconds, sides, before):
        steps, faults, system = (last - at for at, last in zip(first, side.kernel()))
        figures.append((statistics.median(taken), faults / steps, system / steps))
    return figures


def check_same(model, name, theirs, ours):
    """Returns the difference of logits, or None if nothing computes ours."""
    parameters, difference = theirs.header
    if parameters != ours.header[1]:
        raise SystemExit(f"{model} has {parameters} parameters in PyTorch, ours {ours.header[1]}")
    if difference == "-":
        return None
    if not float(difference) < LARGEST_DIFFERENCE:
        raise SystemExit(f"{model}: the logits of {name} differ from ours by {difference}")
    return float(difference)


def cell(name, value):
    width = 9 if name == "logits" else 11
    if value is None:
        return f"{'–':>{width}}"
    return f"{value:{width}.1e}" if name == "logits" else f"{value:{width}.2f}"


def circumstance(allocator, arguments):
    """What a row is measured with, besides the variant."""
    if arguments.device == "cpu":
        return allocator
    return "TF32" if arguments.tf32 else "fp32"


def reached_text(rows, flop, peak, instructions):
    """Which part of the peak the steps of the quietest turns reach."""
    rate = float(flop) / min(row["ours ms"] for row in rows.values()) * 1e3
    return (f"; {float(flop) / 1e9:.1f} GFLOP a step, ours at {100 * rate / float(peak):.0f} % of the "
            f"product's {float(peak) / 1e9:.0f} GFLOP/s, {instructions}")


def chain_text(row, ops):
    """A relu and its gradient are two ops."""
    return "; an op takes {:.0f} ns, in PyTorch {:.0f} ns".format(
        *(row[side] * 1e6 / 2 / int(ops) for side in ("ours ms", "its ms")))


def fastest_text(model, rows, ours, last, arguments):
    """Which setting a user would pick, and what the allocator alone is worth."""
    (variant, allocator), row = min(rows.items(), key=lambda item: item[1]["ratio"])
    text = (f"{model}: the fastest of {len(rows)} is {variant} with "
            f"{circumstance(allocator, arguments)}, ratio {row['ratio']:.2f}")
    plain, other = rows.get((variant, "glibc")), rows.get((variant, "tcmalloc"))
    if plain and other:
        saved = 1 - other["ratio"] / plain["ratio"]
        text += (f"; tcmalloc takes {100 * saved:.0f} % off its step, and "
                 f"{plain['its faults'] - other['its faults']:,.0f} page faults")
    if model == CHAIN:
        return text + chain_text(row, ours.header[0])
    return text + (reached_text(rows, *last) if last else "")


class Contest:
    """Our side and PyTorch's settings with one network. A side is started when it is first asked
    for."""

    def __init__(self, model, batch, arguments):
        self.model, self.arguments = model, arguments
        self.ours, self.sides = our_side(model, batch, arguments), {}

    def side(self, setting):
        if setting not in self.sides:
            self.sides[setting] = their_side(self.model, *setting, self.ours, self.arguments)
        return self.sides[setting]

    def settings(self):
        possible = WITHOUT_IMAGES.get(self.model, VARIANTS)
        variants = [variant for variant in self.arguments.variants if variant in possible]
        return [(variant, allocator) for variant in variants
                for allocator in self.arguments.allocators]

    def row(self, setting):
        """Returns the figures of a row, or None if PyTorch runs out of memory."""
        try:
            theirs = self.side(setting)
            difference = check_same(self.model, " with ".join(setting), theirs, self.ours)
            mine, its = take_turns([self.ours, theirs], self.arguments.steps)
        except NoMemory:
            return None
        row = {"ours ms": 1e3 * mine[0], "its ms": 1e3 * its[0], "ratio": its[0] / mine[0]}
        if self.arguments.device == "cuda":
            row |= {"ours MiB": self.ours.reserved_bytes() / 2**20,
                    "its MiB": theirs.reserved_bytes() / 2**20}
        else:
            row |= {"its faults": its[1], "system ms": 1e3 * its[2]}
        theirs.close()
        return row | {"logits": difference}

    def measure(self):
        """Prints the rows of the model and returns a network's best ratio, if any. Raises Ended."""
        rows = {}
        for variant, allocator in self.settings():
            row = self.row((variant, allocator))
            if not rows:
                self.arguments.columns(row)
            print(f"{self.model:18}{self.ours.header[0]:>6}  {variant:14}"
                  f"{circumstance(allocator, self.arguments):>10}" +
                  ("".join(cell(*pair) for pair in row.items()) if row else "  does not fit"),
                  flush=True)
            if row:
                rows[variant, allocator] = row
        last = self.ours.close()
        if not rows:
            return []
        print(fastest_text(self.model, rows, self.ours, last, self.arguments), flush=True)
        return [] if self.model == CHAIN else [min(row["ratio"] for row in rows.values())]


def start_early(contests):
    """On a rented card seconds count: all sides load their libraries at the same time and then wait
    for their turns. Those that compile would take the processor from the others."""
    for contest in contests:
        for setting in contest.settings():
            try:
                if setting[0] != "torch.compile":
                    contest.side(setting)
            except Ended:
                break  # ours, as measure() will find


def program_of_logits(arguments):
    """model_logits of the build that --ours is of; none on a CUDA device."""
    if arguments.logits or arguments.device == "cuda":
        return arguments.logits
    program = pathlib.Path(arguments.ours).resolve().parents[1] / "train/model_logits"
    if not program.exists():
        raise SystemExit(f"{program} is not built, so outputs cannot be compared: see --logits")
    return str(program)


def where(arguments):
    if arguments.device == "cuda":
        version = torch.backends.cudnn.version()
        return (f"{torch.cuda.get_device_name()}, cuDNN {version // 10000}."
                f"{version % 10000 // 100}.{version % 100}, {circumstance(None, arguments)}")
    lines = torch.__config__.show().splitlines()
    return next((line.strip(" -") for line in lines if "DNN" in line), "no oneDNN").split(" (")[0]


def names(text, known, what, parser):
    chosen = text.split(",")
    for name in chosen:
        if name not in known:
            parser.error(f"unknown {what} {name}, expected some of {', '.join(known)}")
    return chosen


def parsed():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--ours", required=True, help="cnn_step_benchmark or cuda_step_benchmark")
    parser.add_argument("--logits", help="model_logits (default: of the same build; CPU only)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--tf32", action="store_true", help="use TF32 on both sides")
    parser.add_argument("--batches", "--batch", default="0", help="one or more: 32,64")
    parser.add_argument("--steps", type=int, default=5,
                        help="timed steps; ten times as many on a CUDA device")
    parser.add_argument("--variants", default=",".join(VARIANTS), help="ways to run PyTorch")
    parser.add_argument("--allocators", default=",".join(ALLOCATORS),
                        help="of PyTorch's host memory; CPU only")
    parser.add_argument("--our-flags", default="", help="more flags for our program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    known = [*NETWORKS, "seq2seq", *SMALL_NETWORKS, *[GPT, CHAIN] * (arguments.device == "cpu")]
    arguments.models = [names(model, known, "model", parser)[0] for model in arguments.models] or known
    arguments.variants = names(arguments.variants, VARIANTS, "variant", parser)
    arguments.allocators = (["glibc"] if arguments.device == "cuda" else
                            names(arguments.allocators, ALLOCATORS, "allocator", parser))
    arguments.logits = program_of_logits(arguments)
    return arguments


def main():
    if sys.argv[1:2] == [SERVE]:
        return serve(json.loads(sys.argv[2]))
    arguments = parsed()
    print(f"PyTorch {torch.__version__}, {where(arguments)}, {arguments.threads} threads")
    printed = []

    def print_columns(row):
        """Once, as soon as a row tells which there are."""
        if row and not printed:
            printed.append(True)
            kind = "allocator" if arguments.device == "cpu" else "precision"
            print(f"{'network':18}{'batch':>6}  {'PyTorch':14}{kind:>10}" + "".join(
                f"{name:>{9 if name == 'logits' else 11}}" for name in row), flush=True)

    arguments.columns = print_columns
    fastest, failed = [], False
    contests = ((model, batch, Contest(model, int(batch), arguments))
                for model in arguments.models for batch in arguments.batches.split(","))
    if arguments.device == "cuda":
        contests = list(contests)
        start_early([contest for *_, contest in contests])
    for model, batch, contest in contests:
        try:
            fastest += contest.measure()
        except Ended:
            print(f"{model:18}{batch if batch != '0' else '':>6}  ours failed", flush=True)
            failed = True
    if fastest:
        print(f"average ratio to the fastest: {statistics.mean(fastest):.2f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
