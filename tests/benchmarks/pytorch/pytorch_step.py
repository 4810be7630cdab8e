"""Times training steps of Skyline and of eager PyTorch in turns on this machine.

    python3 pytorch_step.py --ours build/release/tests/benchmarks/cnn_step_benchmark [MODEL ...]
                            [--batch B] [--steps N] [--threads T] [--logits MODEL_LOGITS]
    python3 pytorch_step.py --ours build/release/tests/benchmarks/cuda_step_benchmark --device cuda
                            [--tf32] [MODEL ...] [--batches B,...] [--steps N]
                            [--variants eager,channels-last,torch.compile]
                            [--our-flags="--recompute 4 --fused-update --prefetch"]

Both sides have the same networks, batch, threads, loss and optimizer (momentum 0.9, learning rate
0.01) in float32. PyTorch runs with its own allocator three times: eagerly in its default layout (N
C H W), eagerly channels-last, and channels-last through torch.compile, whose first steps compile
and are not timed; --variants leaves some out. A ratio names which of the three it is against.
Seconds are medians of N steps after two warm-up steps. The ratio is PyTorch's seconds to ours:
above 1, ours is faster. The last lines average the ratios over the networks.

On the CPU, each of the three first computes the logits of two images with weights that our program
model_logits (of the same build, or --logits) reads from a file, too. The largest difference,
divided by the largest logit, must be below 1e-4. This needs safetensors.

On a CUDA device seq2seq is compared too (with Adam). Both sides choose engines by cuDNN's
heuristics and read the loss before backward. They wait for the device before and after each of N
runs of ten steps, so work that overlaps two steps counts. Images and labels come from the host in
every step: PyTorch's are pinned beforehand, ours are copied to pinned memory within the step.
Sentences are packed beforehand, and PyTorch's are already on the device. MiB are the bytes that the
allocators hold on the device, without the process's context: PyTorch's peak, and ours once steps
run from the plan (the first step needs a pool). Figures that do not fit stay empty. The exit code
is 1 if one of our steps did not run.
"""

import argparse
import gc
import os
import pathlib
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional

from pytorch_networks import NETWORKS, Seq2Seq
from torch_logits import inputs, largest_difference, randomize_statistics, skyline_logits

WARM_UP_TURNS = 2
STEPS_OF_A_TURN = {"cpu": 1, "cuda": 10}
LAYOUTS = {"eager": torch.contiguous_format, "channels-last": torch.channels_last}
COMPILED = "torch.compile"
VARIANTS = [*LAYOUTS, COMPILED]
LARGEST_DIFFERENCE = 1e-4  # of a logit; rounding gives at most 2e-6 in README's table


class PyTorchStep:
    """A network in training. run() runs one turn and returns the mean seconds of a step."""

    def __init__(self, model, batch, layout, device, compiled=False):
        maker, extent = NETWORKS[model]
        self.model, self.layout, self.device = model, layout, device
        self.network = self.plain = maker().to(device, memory_format=layout)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)
        if compiled:
            self.network = torch.compile(self.network, dynamic=False)
        images = torch.rand(batch, 3, extent, extent) * 2 - 1
        self.inputs = (images.contiguous(memory_format=layout), torch.arange(batch) * 7 % 1000)
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
    """The same for sentences of given lengths, with Adam instead of SGD."""

    def __init__(self, lengths, device):
        self.device = device
        self.network = Seq2Seq().to(device)
        self.optimizer = torch.optim.Adam(self.network.parameters())
        self.batch = len(lengths[0])
        self.source, self.target = (nn.utils.rnn.pack_sequence(
            [torch.randint(Seq2Seq.WORDS, (length,), device=device) for length in side],
            enforce_sorted=False) for side in lengths)

    def loss(self):
        logits = self.network(self.source, self.target)
        return functional.cross_entropy(logits, self.target.data, reduction="sum") / self.batch


def wait(device):
    if device == "cuda":
        torch.cuda.synchronize()


class OursFailed(Exception):
    """Our program has ended; it wrote the reason to standard error."""


class OurStep:
    """Our program. It answers each line, a number of planned steps, with the mean seconds of a step
    and, on a CUDA device, its reserved bytes. Raises OursFailed."""

    def __init__(self, program, model, batch, arguments):
        command = [program, model, "--serve"]
        if arguments.device == "cuda":
            command += ["--batches", str(batch or 64)] + ["--tf32"] * arguments.tf32
        else:
            command += ["--threads", str(arguments.threads)]
            command += ["--batch", str(batch)] * bool(batch)
        command += arguments.our_flags.split()
        self.turn = f"{STEPS_OF_A_TURN[arguments.device]}\n"
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        header = self.answer()
        self.batch, self.parameter_count = map(int, header[:2])
        self.lengths = [[int(length) for length in side.split(",")] for side in header[2:]]

    def answer(self):
        words = self.process.stdout.readline().split()
        if not words:
            raise OursFailed
        return words

    def run(self):
        try:
            self.process.stdin.write(self.turn)
            self.process.stdin.flush()
        except BrokenPipeError:
            raise OursFailed from None
        seconds, *self.bytes = self.answer()
        return float(seconds)

    def reserved_bytes(self):
        return int(self.bytes[0]) if self.bytes else 0

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def pytorch_steps(model, ours, device, variants):
    """Returns makers of PyTorch's steps by name, so that only one is in memory at a time."""
    if model == "seq2seq":
        return {"eager": lambda: PyTorchTranslationStep(ours.lengths, device)}
    steps = {name: lambda layout=layout: PyTorchStep(model, ours.batch, layout, device)
             for name, layout in LAYOUTS.items()}
    steps[COMPILED] = lambda: PyTorchStep(model, ours.batch, LAYOUTS["channels-last"], device,
                                          compiled=True)
    return {name: make for name, make in steps.items() if name in variants}


def take_turns(trainings, turns):
    """Returns the median seconds of a step, by name of the training."""
    seconds = {name: [] for name in trainings}
    for i in range(WARM_UP_TURNS + turns):
        for name, training in trainings.items():
            step_seconds = training.run()
            time.sleep(0.02)  # lets threads that wait for work fall asleep
            if i >= WARM_UP_TURNS:
                seconds[name].append(step_seconds)
    return {name: statistics.median(values) for name, values in seconds.items()}


def check_same(model, name, theirs, ours, program):
    """Returns the difference of logits, or None if nothing computes ours."""
    if theirs.parameters() != ours.parameter_count:
        raise SystemExit(f"{model} has {theirs.parameters()} parameters in PyTorch, "
                         f"ours {ours.parameter_count}")
    difference = theirs.difference(program) if program else None
    if difference is not None and not difference < LARGEST_DIFFERENCE:
        raise SystemExit(f"{model}: the logits of {name} differ from ours by {difference:.1e}")
    return difference


def measure_pytorch(model, name, make, ours, steps, program):
    """Returns our ms, its, the ratio, our MiB, its and the difference of logits; None if PyTorch
    runs out of memory."""
    try:
        theirs = make()
        difference = check_same(model, name, theirs, ours, program)
        seconds = take_turns({"ours": ours, name: theirs}, steps)
    except torch.OutOfMemoryError as refusal:
        print(". ".join(str(refusal).split(". ")[:2]), file=sys.stderr)
        return None
    return (1e3 * seconds["ours"], 1e3 * seconds[name], seconds[name] / seconds["ours"],
            ours.reserved_bytes() / 2**20, theirs.reserved_bytes() / 2**20, difference)


def measure(model, batch, arguments):
    """Yields (PyTorch's layout, batch, figures of measure_pytorch). Raises OursFailed."""
    ours = OurStep(arguments.ours, model, batch, arguments)
    for name, make in pytorch_steps(model, ours, arguments.device,
                                    arguments.variants).items():
        figures = measure_pytorch(model, name, make, ours, arguments.steps, arguments.logits)
        if arguments.device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        yield name, ours.batch, figures
    ours.close()


def row(figures):
    *numbers, difference = figures or [None] * 6
    return ("".join(f"{number:11.2f}" if number else f"{'–':>11}" for number in numbers) +
            (f"{difference:10.1e}" if difference is not None else f"{'–':>10}"))


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
                f"{version % 10000 // 100}.{version % 100}, {'TF32' if arguments.tf32 else 'fp32'}")
    lines = torch.__config__.show().splitlines()
    return next((line.strip(" -") for line in lines if "DNN" in line), "no oneDNN").split(" (")[0]


def main():
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
    parser.add_argument("--our-flags", default="", help="more flags for our program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    known = list(NETWORKS) + ["seq2seq"] * (arguments.device == "cuda")
    unknown = [model for model in arguments.models if model not in known]
    if unknown:
        parser.error(f"unknown model {unknown[0]}, expected one of {', '.join(known)}")
    arguments.variants = arguments.variants.split(",")
    unknown = [name for name in arguments.variants if name not in VARIANTS]
    if unknown:
        parser.error(f"unknown variant {unknown[0]}, expected some of {', '.join(VARIANTS)}")
    arguments.logits = program_of_logits(arguments)
    torch.set_num_threads(arguments.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = arguments.tf32
    print(f"PyTorch {torch.__version__}, {where(arguments)}, {arguments.threads} threads")
    print(f"{'network':18}{'batch':>6}  {'PyTorch':14}{'ours ms':>11}{'its ms':>11}{'ratio':>11}"
          f"{'ours MiB':>11}{'its MiB':>11}{'logits':>10}", flush=True)
    ratios, failed = {}, False
    runs = [(model, int(batch)) for model in arguments.models or known
            for batch in arguments.batches.split(",")]
    for model, wanted in runs:
        try:
            for name, batch, figures in measure(model, wanted, arguments):
                print(f"{model:18}{batch:6}  {name:14}{row(figures)}", flush=True)
                if figures is not None:
                    ratios.setdefault(name, []).append(figures[2])
        except OursFailed:
            print(f"{model:18}{wanted or '':6}  ours failed", flush=True)
            failed = True
    for name, values in ratios.items():
        print(f"average ratio to {name}: {statistics.mean(values):.2f}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
