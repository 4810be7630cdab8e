"""One training step of ours against PyTorch's eager one, in turns, on this machine.

    python3 pytorch_step.py --ours build/release/tests/benchmarks/cnn_step_benchmark [MODEL ...]
                            [--batch B] [--steps N] [--threads T]
    python3 pytorch_step.py --ours build/release/tests/benchmarks/cuda_step_benchmark --device cuda
                            [--tf32] [MODEL ...] [--batches B,...] [--steps N]
                            [--our-flags="--recompute 4 --prefetch"]

The same networks, batch, threads, loss and optimizer (momentum 0.9, learning rate 0.01), float32.
PyTorch runs eager, once with its default layout (N C H W) and once channels-last, with its own
allocator. Seconds are medians of N steps after two that warm up; the ratio is PyTorch's seconds to
ours, so that above 1 we are faster. Ends with the ratios' averages over the networks.

On a CUDA device seq2seq is compared too (Adam). Both sides take engines by cuDNN's heuristics, read
the loss before backward, and wait for the device before and after ten steps, the N times that are
timed: what overlaps two steps counts. Images and labels come from the host for every step: PyTorch's
lie in pinned memory already, ours are copied there within the step; sentences are packed beforehand, and PyTorch's lie on the device. MiB are what the
allocators hold of the device, PyTorch's at most, ours once steps run from the plan (the first one
needs a pool); neither counts the process's context. What does not fit is left open; exit code 1
where a step of ours did not run.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time

import torch
from torch import nn
from torch.nn import functional

WARM_UP_TURNS = 2
STEPS_OF_A_TURN = {"cpu": 1, "cuda": 10}
LAYOUTS = {"eager": torch.contiguous_format, "channels-last": torch.channels_last}


def conv_relu(channels_in, channels_out, kernel, **options):
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, kernel, **options),
                         nn.ReLU(inplace=True))


def response_norm():
    # PyTorch divides alpha by the window's size.
    return nn.LocalResponseNorm(size=5, alpha=5e-4, beta=0.75, k=2.0)


def ceil_pool():
    return nn.MaxPool2d(3, stride=2, ceil_mode=True)


def alexnet():
    return nn.Sequential(
        conv_relu(3, 96, 11, stride=4), response_norm(), ceil_pool(),
        conv_relu(96, 256, 5, padding=2), response_norm(), ceil_pool(),
        conv_relu(256, 384, 3, padding=1), conv_relu(384, 384, 3, padding=1),
        conv_relu(384, 256, 3, padding=1), ceil_pool(), nn.Flatten(),
        nn.Linear(9216, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5),
        nn.Linear(4096, 4096), nn.ReLU(inplace=True), nn.Dropout(0.5), nn.Linear(4096, 1000))


class Inception(nn.Module):
    """GoogLeNet's, with one relu over the joined ends (NETWORKS.md section 5)."""

    def __init__(self, channels_in, out1, proj3, out3, proj5, out5, proj_pool):
        super().__init__()
        self.branches = nn.ModuleList([
            nn.Conv2d(channels_in, out1, 1),
            nn.Sequential(conv_relu(channels_in, proj3, 1), nn.Conv2d(proj3, out3, 3, padding=1)),
            nn.Sequential(conv_relu(channels_in, proj5, 1), nn.Conv2d(proj5, out5, 5, padding=2)),
            nn.Sequential(nn.MaxPool2d(3, stride=1, padding=1),
                          nn.Conv2d(channels_in, proj_pool, 1))])

    def forward(self, x):
        return functional.relu(torch.cat([branch(x) for branch in self.branches], 1), inplace=True)


def auxiliary_head(channels_in):
    return nn.Sequential(nn.AvgPool2d(5, stride=3), conv_relu(channels_in, 128, 1), nn.Flatten(),
                         nn.Linear(2048, 1024), nn.ReLU(inplace=True), nn.Linear(1024, 1000))


class GoogLeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.to_4a = nn.Sequential(
            conv_relu(3, 64, 7, stride=2, padding=3), ceil_pool(), response_norm(),
            conv_relu(64, 64, 1), conv_relu(64, 192, 3, padding=1), response_norm(), ceil_pool(),
            Inception(192, 64, 96, 128, 16, 32, 32), Inception(256, 128, 128, 192, 32, 96, 64),
            ceil_pool(), Inception(480, 192, 96, 208, 16, 48, 64))
        self.to_4d = nn.Sequential(Inception(512, 160, 112, 224, 24, 64, 64),
                                   Inception(512, 128, 128, 256, 24, 64, 64),
                                   Inception(512, 112, 144, 288, 32, 64, 64))
        self.to_5b = nn.Sequential(
            Inception(528, 256, 160, 320, 32, 128, 128), ceil_pool(),
            Inception(832, 256, 160, 320, 32, 128, 128),
            Inception(832, 384, 192, 384, 48, 128, 128),
            nn.AvgPool2d(7), nn.Flatten(), nn.Dropout(0.4), nn.Linear(1024, 1000))
        self.loss1 = auxiliary_head(512)
        self.loss2 = auxiliary_head(528)

    def forward(self, x):
        h4a = self.to_4a(x)
        h4d = self.to_4d(h4a)
        return self.to_5b(h4d), self.loss1(h4a), self.loss2(h4d)


def conv_norm(channels_in, channels_out, kernel, relu=True, bias=False, **options):
    layers = [nn.Conv2d(channels_in, channels_out, kernel, bias=bias, **options),
              nn.BatchNorm2d(channels_out, eps=2e-5, momentum=0.1)]
    return nn.Sequential(*layers, *([nn.ReLU(inplace=True)] if relu else []))


class Bottleneck(nn.Module):
    """ResNet-50's first form: the stride is in the first 1 x 1 convolution."""

    def __init__(self, channels_in, width, channels_out, stride):
        super().__init__()
        self.residual = nn.Sequential(conv_norm(channels_in, width, 1, stride=stride),
                                      conv_norm(width, width, 3, padding=1),
                                      conv_norm(width, channels_out, 1, relu=False))
        self.projection = (nn.Identity() if channels_in == channels_out else
                           conv_norm(channels_in, channels_out, 1, relu=False, stride=stride))

    def forward(self, x):
        return functional.relu(self.residual(x).add_(self.projection(x)), inplace=True)


def resnet50():
    layers = [conv_norm(3, 64, 7, bias=True, stride=2, padding=3), ceil_pool()]
    channels = 64
    for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for i in range(blocks):
            layers.append(Bottleneck(channels, width, 4 * width, stride if i == 0 else 1))
            channels = 4 * width
    return nn.Sequential(*layers, nn.AvgPool2d(7), nn.Flatten(), nn.Linear(2048, 1000))


def slim_conv(channels_in, channels_out, kernel, stride=1, valid=False):
    """TF-slim's: convolution without bias, batch normalization, relu."""
    kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
    padding = (0, 0) if valid else tuple((extent - 1) // 2 for extent in kernel)
    return nn.Sequential(
        nn.Conv2d(channels_in, channels_out, kernel, stride=stride, padding=padding, bias=False),
        nn.BatchNorm2d(channels_out, eps=1e-3, momentum=3e-4), nn.ReLU(inplace=True))


class Joined(nn.Module):
    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class ScaledResidual(nn.Module):
    def __init__(self, joined, joined_channels, channels, scale, relu=True):
        super().__init__()
        self.joined = joined
        self.up = nn.Conv2d(joined_channels, channels, 1)
        self.scale = scale
        self.relu = relu

    def forward(self, x):
        y = torch.add(x, self.up(self.joined(x)), alpha=self.scale)
        return functional.relu(y, inplace=True) if self.relu else y


def block35():
    joined = Joined(slim_conv(320, 32, 1),
                    nn.Sequential(slim_conv(320, 32, 1), slim_conv(32, 32, 3)),
                    nn.Sequential(slim_conv(320, 32, 1), slim_conv(32, 48, 3),
                                  slim_conv(48, 64, 3)))
    return ScaledResidual(joined, 128, 320, 0.17)


def block17():
    joined = Joined(slim_conv(1088, 192, 1),
                    nn.Sequential(slim_conv(1088, 128, 1), slim_conv(128, 160, (1, 7)),
                                  slim_conv(160, 192, (7, 1))))
    return ScaledResidual(joined, 384, 1088, 0.10)


def block8(scale=0.20, relu=True):
    joined = Joined(slim_conv(2080, 192, 1),
                    nn.Sequential(slim_conv(2080, 192, 1), slim_conv(192, 224, (1, 3)),
                                  slim_conv(224, 256, (3, 1))))
    return ScaledResidual(joined, 448, 2080, scale, relu)


def inception_resnet():
    stem = (slim_conv(3, 32, 3, 2, valid=True), slim_conv(32, 32, 3, valid=True),
            slim_conv(32, 64, 3), nn.MaxPool2d(3, 2), slim_conv(64, 80, 1),
            slim_conv(80, 192, 3, valid=True), nn.MaxPool2d(3, 2))
    mixed_5b = Joined(slim_conv(192, 96, 1),
                      nn.Sequential(slim_conv(192, 48, 1), slim_conv(48, 64, 5)),
                      nn.Sequential(slim_conv(192, 64, 1), slim_conv(64, 96, 3),
                                    slim_conv(96, 96, 3)),
                      nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False),
                                    slim_conv(192, 64, 1)))
    mixed_6a = Joined(slim_conv(320, 384, 3, 2, valid=True),
                      nn.Sequential(slim_conv(320, 256, 1), slim_conv(256, 256, 3),
                                    slim_conv(256, 384, 3, 2, valid=True)),
                      nn.MaxPool2d(3, 2))
    mixed_7a = Joined(
        nn.Sequential(slim_conv(1088, 256, 1), slim_conv(256, 384, 3, 2, valid=True)),
        nn.Sequential(slim_conv(1088, 256, 1), slim_conv(256, 288, 3, 2, valid=True)),
        nn.Sequential(slim_conv(1088, 256, 1), slim_conv(256, 288, 3),
                      slim_conv(288, 320, 3, 2, valid=True)),
        nn.MaxPool2d(3, 2))
    return nn.Sequential(
        *stem, mixed_5b, *(block35() for _ in range(10)), mixed_6a,
        *(block17() for _ in range(20)), mixed_7a, *(block8() for _ in range(9)),
        block8(scale=1.0, relu=False), slim_conv(2080, 1536, 1), nn.AvgPool2d(8), nn.Flatten(),
        nn.Dropout(0.2), nn.Linear(1536, 1000))


class Seq2Seq(nn.Module):
    """Chainer's example (NETWORKS.md section 8): two LSTMs of three layers of 1024 units."""

    WORDS = 40002

    def __init__(self):
        super().__init__()
        self.embed_x, self.embed_y = nn.Embedding(self.WORDS, 1024), nn.Embedding(self.WORDS, 1024)
        self.encoder, self.decoder = (nn.LSTM(1024, 1024, 3, dropout=0.1) for _ in range(2))
        self.W = nn.Linear(1024, self.WORDS)

    def forward(self, source, target):
        _, (h, c) = self.encoder(embedded(self.embed_x, source))
        y, _ = self.decoder(embedded(self.embed_y, target), (h, c))
        return self.W(y.data)


def embedded(embedding, words):
    return words._replace(data=embedding(words.data))


# Maker and rows of an image.
NETWORKS = {"alexnet": (alexnet, 227), "googlenet": (GoogLeNet, 224), "resnet50": (resnet50, 224),
            "inception-resnet": (inception_resnet, 299)}


class PyTorchStep:
    """A network in training; run() gives the seconds of one step of a turn."""

    def __init__(self, model, batch, layout, device):
        maker, extent = NETWORKS[model]
        self.device = device
        self.network = maker().to(device, memory_format=layout)
        self.optimizer = torch.optim.SGD(self.network.parameters(), lr=0.01, momentum=0.9)
        images = torch.rand(batch, 3, extent, extent) * 2 - 1
        self.inputs = (images.contiguous(memory_format=layout), torch.arange(batch) * 7 % 1000)
        if device == "cuda":
            self.inputs = tuple(tensor.pin_memory() for tensor in self.inputs)

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
    """The same for sentences of given lengths, Adam in place of SGD."""

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
    """Our program has ended, and said why on standard error."""


class OurStep:
    """Our program: answers each line, a number of planned steps, by the seconds of one of them and,
    on a CUDA device, the bytes that it has reserved there. Raises OursFailed."""

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


def make_arms(model, ours, device):
    """PyTorch's, each made when its turn comes."""
    if model == "seq2seq":
        return {"eager": lambda: PyTorchTranslationStep(ours.lengths, device)}
    return {name: lambda layout=layout: PyTorchStep(model, ours.batch, layout, device)
            for name, layout in LAYOUTS.items()}


def take_turns(arms, turns):
    """Median seconds of a step, by arm."""
    seconds = {name: [] for name in arms}
    for i in range(WARM_UP_TURNS + turns):
        for name, arm in arms.items():
            step_seconds = arm.run()
            time.sleep(0.02)  # so that threads that wait for more work go to sleep
            if i >= WARM_UP_TURNS:
                seconds[name].append(step_seconds)
    return {name: statistics.median(values) for name, values in seconds.items()}


def measure_arm(model, name, make, ours, steps):
    """Our milliseconds, its, the ratio, our MiB, its; None where PyTorch runs out of memory."""
    try:
        theirs = make()
        if theirs.parameters() != ours.parameter_count:
            raise SystemExit(f"{model} has {theirs.parameters()} parameters in PyTorch, "
                             f"ours {ours.parameter_count}")
        seconds = take_turns({"ours": ours, name: theirs}, steps)
    except torch.OutOfMemoryError as refusal:
        print(". ".join(str(refusal).split(". ")[:2]), file=sys.stderr)
        return None
    return (1e3 * seconds["ours"], 1e3 * seconds[name], seconds[name] / seconds["ours"],
            ours.reserved_bytes() / 2**20, theirs.reserved_bytes() / 2**20)


def measure(model, batch, arguments):
    """Yields (arm of PyTorch, batch, figures of measure_arm). Raises OursFailed."""
    ours = OurStep(arguments.ours, model, batch, arguments)
    for name, make in make_arms(model, ours, arguments.device).items():
        figures = measure_arm(model, name, make, ours, arguments.steps)
        if arguments.device == "cuda":
            gc.collect()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        yield name, ours.batch, figures
    ours.close()


def row(figures):
    return "".join(f"{figure:11.2f}" if figure else f"{'–':>11}"
                   for figure in figures or [None] * 5)


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
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--tf32", action="store_true", help="on both sides")
    parser.add_argument("--batches", "--batch", default="0", help="one or more: 32,64")
    parser.add_argument("--steps", type=int, default=5, help="of each; times ten on a CUDA device")
    parser.add_argument("--our-flags", default="", help="more flags for our program")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    arguments = parser.parse_args()
    known = list(NETWORKS) + ["seq2seq"] * (arguments.device == "cuda")
    unknown = [model for model in arguments.models if model not in known]
    if unknown:
        parser.error(f"unknown model {unknown[0]}, expected one of {', '.join(known)}")
    torch.set_num_threads(arguments.threads)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = arguments.tf32
    print(f"PyTorch {torch.__version__}, {where(arguments)}, {arguments.threads} threads")
    print(f"{'network':18}{'batch':>6}  {'PyTorch':14}{'ours ms':>11}{'its ms':>11}{'ratio':>11}"
          f"{'ours MiB':>11}{'its MiB':>11}", flush=True)
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
