"""The paper's networks in PyTorch as they train; the images' networks are those of
tests/train/weights, which have the names and the order of weights that Skyline's files have."""

import functools
import pathlib
import sys

from torch import nn

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "train/weights"))
import torch_networks

CLASSES = 1000


class Seq2Seq(nn.Module):
    """Chainer's seq2seq example: an encoder and a decoder LSTM, each of three layers."""

    WORDS = 40002

    def __init__(self, words=WORDS, units=1024):
        super().__init__()
        self.embed_x, self.embed_y = nn.Embedding(words, units), nn.Embedding(words, units)
        self.encoder, self.decoder = (nn.LSTM(units, units, 3, dropout=0.1) for _ in range(2))
        self.W = nn.Linear(units, words)

    def forward(self, source, target):
        return self.W(self.decoded(source, target))

    def decoded(self, source, target):
        _, (h, c) = self.encoder(embedded(self.embed_x, source))
        y, _ = self.decoder(embedded(self.embed_y, target), (h, c))
        return y.data


def embedded(embedding, words):
    return words._replace(data=embedding(words.data))


def image_network(name, **options):
    """Returns a maker and the image's height."""
    maker, _, image = torch_networks.NETWORKS[name]
    return functools.partial(maker, image, CLASSES, **options), image[1]


NETWORKS = {"alexnet": image_network("alexnet"),
            "googlenet": image_network("googlenet", heads=True),
            "resnet50": image_network("resnet50"),
            "inception-resnet": image_network("inception-resnet"),
            "vgg16": image_network("vgg16"),
            "mobilenet_v2": image_network("mobilenet_v2")}
SMALL_NETWORKS = ("mlp", "lenet", "resnet20")


def image_of(name):
    """Returns a maker, the image's extents and the number of classes."""
    image = torch_networks.NETWORKS[name][2]
    if name in NETWORKS:
        return NETWORKS[name][0], image, CLASSES
    return functools.partial(torch_networks.NETWORKS[name][0], image, 10), image, 10
