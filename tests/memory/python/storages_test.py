"""Compares step_graph_of's peak, on fake tensors, with the storages that a real step holds on the CPU.

    python3 storages_test.py --table    # of all networks

$SKYLINE_PYTHON names a Python that has torch, of the same version.
"""

import functools
import os
import sys
import unittest
import weakref

try:
    import torch
except ImportError:
    other = os.environ.pop("SKYLINE_PYTHON", None)
    if other:
        os.execv(other, [other, *sys.argv])
    print("storages_test.py: Skipped\nthis Python has no torch, and SKYLINE_PYTHON names no other")
    sys.exit(77)

from torch import nn, optim
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.checkpoint import checkpoint

from skyline.traced_step import step_graph_of, sum_of, tensors_in


class Storages(TorchDispatchMode):
    """Counts the bytes of all storages that ops make, but those of resident tensors."""

    def __init__(self, resident, inputs):
        super().__init__()
        self.now = self.most = 0
        self.known = {t.untyped_storage()._cdata for t in resident}
        for tensor in inputs:
            self.see(tensor)

    def see(self, tensor):
        storage = tensor.untyped_storage()
        if storage._cdata in self.known:
            return
        self.known.add(storage._cdata)
        self.now += storage.nbytes()
        self.most = max(self.most, self.now)
        weakref.finalize(storage, self.gone, storage._cdata, storage.nbytes())

    def gone(self, key, bytes):
        self.known.discard(key)
        self.now -= bytes

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        for tensor in tensors_in(result):
            self.see(tensor)
        return result


def loss_of(outputs):
    return sum_of([output for output in tensors_in(outputs) if output.is_floating_point()])


def real_peak(module, inputs, make_optimizer):
    optimizer = make_optimizer(module.parameters()) if make_optimizer else None

    def step():
        loss = loss_of(module(*inputs))
        loss.backward()
        if optimizer:
            optimizer.step()

    if optimizer:
        step()  # makes its states
    for parameter in module.parameters():
        parameter.grad = None
    states = tensors_in(list(optimizer.state.values())) if optimizer else []
    with Storages([*module.parameters(), *module.buffers(), *states], inputs) as storages:
        step()
    return storages.most


class Lambda(nn.Module):
    """A function of layers and an input."""

    def __init__(self, function, *layers):
        super().__init__()
        self.layers, self.function = nn.ModuleList(layers), function

    def forward(self, *inputs):
        return self.function(*self.layers, *inputs)


def autocast(layer, x):
    with torch.autocast("cpu", torch.bfloat16):
        return layer(x)


def tied(embedding, x):
    return nn.functional.linear(embedding(x), embedding.weight)


def classifier(*layers, channels=8):
    return nn.Sequential(nn.Conv2d(3, channels, 3, padding=1, bias=False), *layers,
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10))


def torchvision_model(name):
    import torchvision
    return torchvision.models.get_model(name)


def inverted_residual():
    return nn.Sequential(nn.Conv2d(8, 48, 1, bias=False), nn.BatchNorm2d(48), nn.ReLU6(True),
                         nn.Conv2d(48, 48, 3, padding=1, groups=48, bias=False),
                         nn.BatchNorm2d(48), nn.SiLU(True), nn.Conv2d(48, 8, 1))


IMAGES = torch.ones(4, 3, 32, 32)
SEQUENCE = torch.ones(12, 4, 16)
WORDS = torch.arange(40).reshape(4, 10)
adam = functools.partial(optim.Adam, foreach=False)

# Module, inputs, optimizer.
NETWORKS = {
    "perceptron": (lambda: nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8)),
                   [SEQUENCE], optim.SGD),
    "batch norm, in place": (lambda: classifier(nn.BatchNorm2d(8), nn.ReLU(True)), [IMAGES],
                             functools.partial(optim.SGD, momentum=0.9)),
    "batch norm, evaluation": (lambda: classifier(nn.BatchNorm2d(8).eval()), [IMAGES], adam),
    "group norm": (lambda: classifier(nn.GroupNorm(2, 8), nn.GELU()), [IMAGES], optim.AdamW),
    "instance norm": (lambda: classifier(nn.InstanceNorm2d(8, track_running_stats=True,
                                                           affine=True)), [IMAGES], optim.RMSprop),
    "local response norm": (lambda: classifier(nn.LocalResponseNorm(3)), [IMAGES], optim.Adagrad),
    "inverted residual": (lambda: classifier(inverted_residual()), [IMAGES], optim.NAdam),
    "channels last": (lambda: classifier(nn.BatchNorm2d(8)).to(memory_format=torch.channels_last),
                      [IMAGES.to(memory_format=torch.channels_last)], optim.RAdam),
    "pooling": (lambda: classifier(nn.MaxPool2d(3, 2), nn.AvgPool2d(2)), [IMAGES], optim.Adadelta),
    "dropout": (lambda: classifier(nn.Dropout(0.3), nn.Dropout2d(0.2)), [IMAGES], optim.Adamax),
    "transposed convolution": (lambda: classifier(nn.ConvTranspose2d(8, 8, 2, stride=2)), [IMAGES],
                               optim.Adamax),
    "upsampling": (lambda: classifier(nn.Upsample(scale_factor=2, mode="bilinear")), [IMAGES],
                   optim.Rprop),
    "convolution in 1 D": (lambda: nn.Conv1d(4, 6, 3), [SEQUENCE], optim.SGD),
    "convolution in 3 D": (lambda: nn.Conv3d(3, 4, 3), [torch.ones(1, 3, 6, 6, 6)], adam),
    "dilated, in groups": (lambda: classifier(nn.Conv2d(8, 8, 3, dilation=2, groups=2)), [IMAGES],
                           functools.partial(optim.Adam, amsgrad=True)),
    "fused Adam": (lambda: classifier(nn.PReLU(), nn.Softplus()), [IMAGES],
                   functools.partial(optim.Adam, fused=True)),
    "Adam over lists": (lambda: classifier(nn.Hardswish()), [IMAGES],
                        functools.partial(optim.AdamW, foreach=True)),
    "LSTM": (lambda: nn.LSTM(16, 32), [SEQUENCE], None),
    "LSTM, 2 layers, 2 directions": (lambda: nn.LSTM(16, 32, 2, bidirectional=True, dropout=0.2),
                                     [SEQUENCE], adam),
    "LSTM, projected": (lambda: nn.LSTM(16, 32, proj_size=8), [SEQUENCE], optim.SGD),
    "LSTM, batch first": (lambda: nn.LSTM(16, 32, batch_first=True), [SEQUENCE], optim.SGD),
    "LSTM cell": (lambda: nn.LSTMCell(16, 32), [SEQUENCE[0]], adam),
    "GRU": (lambda: nn.GRU(16, 32, 2), [SEQUENCE], optim.SGD),
    "RNN": (lambda: nn.RNN(16, 32, nonlinearity="relu"), [SEQUENCE], adam),
    "encoder": (lambda: nn.TransformerEncoderLayer(16, 4, 32), [SEQUENCE], optim.AdamW),
    "decoder": (lambda: nn.TransformerDecoderLayer(16, 4, 32), [SEQUENCE, SEQUENCE], optim.AdamW),
    "attention and its weights": (lambda: nn.MultiheadAttention(16, 2), [SEQUENCE] * 3, adam),
    "embedding, tied": (lambda: Lambda(tied, nn.Embedding(50, 16)), [WORDS], adam),
    "bags of words": (lambda: nn.EmbeddingBag(50, 16), [WORDS], optim.SGD),
    "bags of words, greatest": (lambda: nn.EmbeddingBag(50, 16, mode="max"),
                                [WORDS.flatten(), torch.tensor([0, 3, 20])], optim.SGD),
    "bags of words, added": (lambda: nn.EmbeddingBag(50, 16, mode="sum"), [WORDS], adam),
    "bilinear": (lambda: nn.Bilinear(16, 16, 4), [SEQUENCE, SEQUENCE], adam),
    "autocast": (lambda: Lambda(autocast, nn.Sequential(nn.Linear(16, 32), nn.Linear(32, 4))),
                 [SEQUENCE], optim.SGD),
    "checkpointed": (lambda: Lambda(lambda layer, x: checkpoint(layer, x, use_reentrant=False),
                                    nn.Sequential(nn.Linear(16, 64), nn.ReLU(),
                                                  nn.Linear(64, 16))), [SEQUENCE], optim.SGD),
    "cosine, softmax": (lambda: Lambda(lambda layer, x: nn.functional.cosine_similarity(
        layer(x).softmax(-1), x), nn.Linear(16, 16)), [SEQUENCE], optim.SGD),
    "scripted": (lambda: torch.jit.script(classifier(nn.BatchNorm2d(8), nn.Dropout(0.3))),
                 [IMAGES], adam),
    "frozen half": (lambda: nn.Sequential(nn.Linear(16, 16).requires_grad_(False), nn.ReLU(),
                                          nn.Linear(16, 4)), [SEQUENCE], None),
}


def peaks(name):
    """Returns the predicted peak and that of a real step."""
    make, inputs, optimizer = NETWORKS[name]
    torch.manual_seed(1)
    predicted = step_graph_of(make(), tuple(inputs), loss=loss_of, optimizer=optimizer).eager_peak
    return predicted, real_peak(make(), inputs, optimizer)


class StoragesTest(unittest.TestCase):
    def test_a_real_step_holds_what_was_predicted(self):
        for name in NETWORKS:
            with self.subTest(name):
                predicted, real = peaks(name)
                self.assertEqual(predicted, real)


if __name__ == "__main__":
    if "--table" in sys.argv:
        for name in NETWORKS:
            print(f"{name:30}" + "".join(f"{bytes:12,}" for bytes in peaks(name)))
    else:
        unittest.main()
