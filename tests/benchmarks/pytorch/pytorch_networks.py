"""The paper's networks in PyTorch, with the same layers and numbers of parameters as in models/."""

import torch
from torch import nn
from torch.nn import functional


def conv_relu(channels_in, channels_out, kernel, **options):
    return nn.Sequential(nn.Conv2d(channels_in, channels_out, kernel, **options),
                         nn.ReLU(inplace=True))


def response_norm():
    # PyTorch divides alpha by the window size.
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
    """GoogLeNet's inception block as in Chainer: one relu over the concatenated branches."""

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
    """The bottleneck of the first ResNet-50: its first 1 x 1 convolution has the stride."""

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
    """TF-slim's convolution: no bias, then batch normalization and relu."""
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
    """Chainer's seq2seq example: an encoder and a decoder LSTM, each three layers of 1024 units."""

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


# Each model's maker and image height.
NETWORKS = {"alexnet": (alexnet, 227), "googlenet": (GoogLeNet, 224), "resnet50": (resnet50, 224),
            "inception-resnet": (inception_resnet, 299)}
