"""Every network of models/ as a PyTorch module with the same names in its state_dict.

torchvision's modules serve where the network is theirs; the rest follows models/ layer by layer.
In training they have dropout, too, and write rectified values in place, as their users would.
Each entry of NETWORKS is (maker, image), with image None for text.
"""

import torch
import torchvision
from torch import nn
from torch.nn import functional

EPSILON = 2e-5  # of Skyline's batch normalizations, as in Chainer; torchvision has 1e-5


def with_epsilon(module):
    for part in module.modules():
        if isinstance(part, nn.BatchNorm2d):
            part.eps = EPSILON
    return module


def mlp(image, classes):
    channels, height, width = image
    net = nn.Module()
    net.fc1 = nn.Linear(channels * height * width, 256)
    net.fc2, net.fc3 = nn.Linear(256, 128), nn.Linear(128, classes)
    net.forward = lambda x: net.fc3(functional.relu(net.fc2(functional.relu(
        net.fc1(torch.flatten(x, 1))))))
    return net


class LeNet(nn.Module):
    def __init__(self, image, classes):
        super().__init__()
        channels, height, width = image
        side = lambda extent: (extent // 2 - 4) // 2
        self.conv1 = nn.Conv2d(channels, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(16 * side(height) * side(width), 120)
        self.fc2, self.fc3 = nn.Linear(120, 84), nn.Linear(84, classes)

    def forward(self, x):
        x = functional.max_pool2d(functional.relu(self.conv1(x)), 2)
        x = functional.max_pool2d(functional.relu(self.conv2(x)), 2)
        x = functional.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(functional.relu(self.fc2(x)))


class ResidualBlock(nn.Module):
    def __init__(self, channels_in, channels_out):
        super().__init__()
        self.stride = channels_out // channels_in
        self.conv1 = nn.Conv2d(channels_in, channels_out, 3, self.stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels_out)
        self.conv2 = nn.Conv2d(channels_out, channels_out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels_out)

    def forward(self, x):
        y = functional.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.stride != 1:
            x = x[:, :, ::self.stride, ::self.stride]
            x = functional.pad(x, (0, 0, 0, 0, 0, y.shape[1] - x.shape[1]))
        return functional.relu(y + x)


class ResNet20(nn.Module):
    def __init__(self, image, classes):
        super().__init__()
        self.conv1 = nn.Conv2d(image[0], 16, 3, 1, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        self.blocks, channels = [], 16
        for stage in (2, 3, 4):
            for i in (1, 2, 3):
                self.blocks.append(f"conv{stage}_{i}")
                setattr(self, self.blocks[-1], ResidualBlock(channels, 16 << stage - 2))
                channels = 16 << stage - 2
        self.fc = nn.Linear(64, classes)

    def forward(self, x):
        x = functional.relu(self.bn1(self.conv1(x)))
        for block in self.blocks:
            x = getattr(self, block)(x)
        return self.fc(x.mean((2, 3)))


def relu(x):
    return functional.relu(x, inplace=True)


def pool(x):
    return functional.max_pool2d(x, 3, 2, ceil_mode=True)


def response_norm(x):
    # PyTorch divides alpha by the window's size.
    return functional.local_response_norm(x, 5, alpha=5e-4, beta=0.75, k=2.0)


class AlexNet(nn.Module):
    def __init__(self, image, classes):
        super().__init__()
        channels, height, width = image
        side = lambda extent: ((extent - 11) // 4 + 1) // 8
        self.conv1 = nn.Conv2d(channels, 96, 11, stride=4)
        self.conv2 = nn.Conv2d(96, 256, 5, padding=2)
        self.conv3 = nn.Conv2d(256, 384, 3, padding=1)
        self.conv4 = nn.Conv2d(384, 384, 3, padding=1)
        self.conv5 = nn.Conv2d(384, 256, 3, padding=1)
        self.fc6 = nn.Linear(256 * side(height) * side(width), 4096)
        self.fc7, self.fc8 = nn.Linear(4096, 4096), nn.Linear(4096, classes)

    def forward(self, x):
        x = pool(response_norm(relu(self.conv1(x))))
        x = pool(response_norm(relu(self.conv2(x))))
        for conv in (self.conv3, self.conv4, self.conv5):
            x = relu(conv(x))
        x = torch.flatten(pool(x), 1)
        for fc in (self.fc6, self.fc7):
            x = functional.dropout(relu(fc(x)), 0.5, self.training)
        return self.fc8(x)


class Inception(nn.Module):
    def __init__(self, channels, out1, proj3, out3, proj5, out5, proj_pool):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, out1, 1)
        self.proj3, self.conv3 = nn.Conv2d(channels, proj3, 1), nn.Conv2d(proj3, out3, 3, padding=1)
        self.proj5, self.conv5 = nn.Conv2d(channels, proj5, 1), nn.Conv2d(proj5, out5, 5, padding=2)
        self.proj_pool = nn.Conv2d(channels, proj_pool, 1)

    def forward(self, x):
        ends = (self.conv1(x), self.conv3(relu(self.proj3(x))), self.conv5(relu(self.proj5(x))),
                self.proj_pool(functional.max_pool2d(x, 3, 1, 1)))
        return relu(torch.cat(ends, 1))


class AuxiliaryHead(nn.Module):
    def __init__(self, channels, side, classes):
        super().__init__()
        self.conv = nn.Conv2d(channels, 128, 1)
        self.fc1, self.fc2 = nn.Linear(128 * side ** 2, 1024), nn.Linear(1024, classes)

    def forward(self, x):
        x = torch.flatten(relu(self.conv(functional.avg_pool2d(x, 5, 3))), 1)
        return self.fc2(relu(self.fc1(x)))


class GoogLeNet(nn.Module):
    """With `heads`, training returns the logits of the two auxiliary heads, too."""

    WIDTHS = {"3a": (192, 64, 96, 128, 16, 32, 32), "3b": (256, 128, 128, 192, 32, 96, 64),
              "4a": (480, 192, 96, 208, 16, 48, 64), "4b": (512, 160, 112, 224, 24, 64, 64),
              "4c": (512, 128, 128, 256, 24, 64, 64), "4d": (512, 112, 144, 288, 32, 64, 64),
              "4e": (528, 256, 160, 320, 32, 128, 128), "5a": (832, 256, 160, 320, 32, 128, 128),
              "5b": (832, 384, 192, 384, 48, 128, 128)}

    def __init__(self, image, classes, heads=False):
        super().__init__()
        self.conv1 = nn.Conv2d(image[0], 64, 7, 2, 3)
        self.conv2_reduce, self.conv2 = nn.Conv2d(64, 64, 1), nn.Conv2d(64, 192, 3, padding=1)
        for name, widths in self.WIDTHS.items():
            setattr(self, "inception_" + name, Inception(*widths))
        self.fc = nn.Linear(1024, classes)
        self.heads = {}
        if heads:
            side = ((image[1] + 1) // 2 // 8 - 5) // 3 + 1
            self.loss1, self.loss2 = (AuxiliaryHead(channels, side, classes)
                                      for channels in (512, 528))
            self.heads = {"4a": "loss1", "4d": "loss2"}

    def forward(self, x):
        x = response_norm(pool(relu(self.conv1(x))))
        x = relu(self.conv2_reduce(x))
        x = pool(response_norm(relu(self.conv2(x))))
        auxiliary = []
        for name in self.WIDTHS:
            x = getattr(self, "inception_" + name)(x)
            if self.training and name in self.heads:
                auxiliary.append(getattr(self, self.heads[name])(x))
            if name in ("3b", "4e"):
                x = pool(x)
        logits = self.fc(functional.dropout(x.mean((2, 3)), 0.4, self.training))
        return (logits, *auxiliary) if auxiliary else logits


def resnet18(image, classes):
    return with_epsilon(torchvision.models.resnet18(num_classes=classes))


def resnet50(image, classes):
    """Chainer's: the first 1x1 convolution of a block has the stride, conv1 a bias, the pooling no
    padding."""
    net = torchvision.models.resnet50(num_classes=classes)
    net.conv1 = nn.Conv2d(image[0], 64, 7, 2, 3)
    net.maxpool = nn.MaxPool2d(3, 2, ceil_mode=True)
    for layer in (net.layer2, net.layer3, net.layer4):
        layer[0].conv1.stride, layer[0].conv2.stride = (2, 2), (1, 1)
    return with_epsilon(net)


def mobilenet_v2(image, classes):
    return with_epsilon(torchvision.models.mobilenet_v2(num_classes=classes))


def vgg16(image, classes):
    """torchvision's at 224 x 224; other images are not pooled to 7 x 7 before the first dense
    layer."""
    net = torchvision.models.vgg16(num_classes=classes)
    net.avgpool = nn.Identity()
    net.classifier[0] = nn.Linear(512 * (image[1] // 32) * (image[2] // 32), 4096)
    return net


class ConvNorm(nn.Module):
    def __init__(self, channels_in, channels_out, kernel, stride=1, valid=False):
        super().__init__()
        kernel = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        padding = (0, 0) if valid else tuple((extent - 1) // 2 for extent in kernel)
        self.conv = nn.Conv2d(channels_in, channels_out, kernel, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(channels_out, eps=1e-3)

    def forward(self, x):
        return relu(self.bn(self.conv(x)))


class Module(nn.Module):
    """Branches of (out, kernel, …) convolutions, "max" and "average" poolings, joined."""

    def __init__(self, channels, branches):
        super().__init__()
        self.runs, self.out = [], 0
        for number, branch in enumerate(branches, 1):
            convolutions, run, width = {}, [], channels
            for step in branch:
                if isinstance(step, str):
                    run.append(step)
                    continue
                name = f"conv{len(convolutions) + 1}"
                convolutions[name] = ConvNorm(width, *step)
                run.append(convolutions[name])
                width = step[0]
            if len(branches) == 1:
                for name, part in convolutions.items():
                    setattr(self, name, part)
            elif convolutions:
                setattr(self, f"branch{number}", nn.ModuleDict(convolutions))
            self.runs.append(run)
            self.out += width

    def branches(self, x):
        ends = []
        for run in self.runs:
            y = x
            for step in run:
                if step == "max":
                    y = functional.max_pool2d(y, 3, 2)
                elif step == "average":
                    y = functional.avg_pool2d(y, 3, 1, 1, count_include_pad=False)
                else:
                    y = step(y)
            ends.append(y)
        return torch.cat(ends, 1)

    forward = branches


class Residual(Module):
    def __init__(self, channels, branches, scale, relu=True):
        super().__init__(channels, branches)
        self.up, self.scale, self.relu = nn.Conv2d(self.out, channels, 1), scale, relu

    def forward(self, x):
        y = torch.add(x, self.up(self.branches(x)), alpha=self.scale)
        return relu(y) if self.relu else y


BLOCK35 = [[(32, 1)], [(32, 1), (32, 3)], [(32, 1), (48, 3), (64, 3)]]
REDUCTION_A = [[(384, 3, 2, True)], [(256, 1), (256, 3), (384, 3, 2, True)], ["max"]]
BLOCK17 = [[(192, 1)], [(128, 1), (160, (1, 7)), (192, (7, 1))]]
REDUCTION_B = [[(256, 1), (384, 3, 2, True)], [(256, 1), (288, 3, 2, True)],
               [(256, 1), (288, 3), (320, 3, 2, True)], ["max"]]
BLOCK8 = [[(192, 1)], [(192, 1), (224, (1, 3)), (256, (3, 1))]]
SLIM_STEM = {"stem": [[(32, 3, 2, True), (32, 3, 1, True), (64, 3), "max", (80, 1, 1, True),
                       (192, 3, 1, True), "max"]],
             "mixed_5b": [[(96, 1)], [(48, 1), (64, 5)], [(64, 1), (96, 3), (96, 3)],
                          ["average", (64, 1)]]}
FIGURE_STEM = {"stem1": [[(32, 3, 2, True), (32, 3, 1, True), (64, 3)]],
               "stem2": [["max"], [(96, 3, 2, True)]],
               "stem3": [[(64, 1), (96, 3, 1, True)],
                         [(64, 1), (64, (7, 1)), (64, (1, 7)), (96, 3, 1, True)]],
               "stem4": [[(192, 3, 2, True)], ["max"]]}


class InceptionResNet(nn.Module):
    def __init__(self, image, classes, stem, blocks, last, conv7b):
        super().__init__()
        self.order, self.channels = [], image[0]
        for name, branches in stem.items():
            self.add(name, Module(self.channels, branches))
        self.add_blocks("block35", blocks[0], BLOCK35, 0.17)
        self.add("reduction_a", Module(self.channels, REDUCTION_A))
        self.add_blocks("block17", blocks[1], BLOCK17, 0.10)
        self.add("reduction_b", Module(self.channels, REDUCTION_B))
        self.add_blocks("block8", blocks[2] - 1, BLOCK8, 0.20)
        self.add(f"block8_{blocks[2]}", Residual(self.channels, BLOCK8, *last))
        if conv7b:
            self.add("conv7b", Module(self.channels, [[(1536, 1)]]))
        self.fc = nn.Linear(self.channels, classes)

    def add(self, name, module):
        setattr(self, name, module)
        self.order.append(name)
        if not isinstance(module, Residual):
            self.channels = module.out

    def add_blocks(self, name, count, branches, scale):
        for number in range(1, count + 1):
            self.add(f"{name}_{number}", Residual(self.channels, branches, scale))

    def forward(self, x):
        for name in self.order:
            x = getattr(self, name)(x)
        return self.fc(functional.dropout(x.mean((2, 3)), 0.2, self.training))


def inception_resnet(image, classes):
    return InceptionResNet(image, classes, SLIM_STEM, (10, 20, 10), (1.0, False), True)


def inception_resnet_figure(image, classes):
    return InceptionResNet(image, classes, FIGURE_STEM, (5, 10, 5), (0.20,), False)


class Seq2Seq(nn.Module):
    """Without dropout. `words` is how many words both vocabularies hold."""

    def __init__(self, words, units, layers):
        super().__init__()
        self.embed_x, self.embed_y = nn.Embedding(words, units), nn.Embedding(words, units)
        self.encoder, self.decoder = (nn.LSTM(units, units, layers) for _ in range(2))
        self.W = nn.Linear(units, words)

    def forward(self, source, target):
        _, state = self.encoder(self.embed_x(source))
        y, _ = self.decoder(self.embed_y(target), state)
        return self.W(y)


class Conv1D(nn.Module):
    """A linear layer as GPT-2's files have it: weight [in, out]."""

    def __init__(self, width_in, width_out, bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(width_in, width_out).normal_(0, 0.02))
        self.bias = nn.Parameter(torch.zeros(width_out)) if bias else None

    def forward(self, x):
        y = x @ self.weight
        return y if self.bias is None else y + self.bias


class GptBlock(nn.Module):
    def __init__(self, heads, units, bias):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = (nn.LayerNorm(units, bias=bias) for _ in range(2))
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.c_attn = Conv1D(units, 3 * units, bias)
        self.attn.c_proj = Conv1D(units, units, bias)
        self.mlp.c_fc = Conv1D(units, 4 * units, bias)
        self.mlp.c_proj = Conv1D(4 * units, units, bias)

    def forward(self, x):
        batch, length, units = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.attn.c_attn(self.ln_1(x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn.c_proj(y.transpose(1, 2).reshape(batch, length, units))
        return x + self.mlp.c_proj(functional.gelu(self.mlp.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    """GPT-2, with the names of Hugging Face's files. The head is tied to wte."""

    def __init__(self, words, positions, layers, heads, units, bias):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(words, units), nn.Embedding(positions, units)
        self.h = nn.ModuleList(GptBlock(heads, units, bias) for _ in range(layers))
        self.ln_f = nn.LayerNorm(units, bias=bias)
        for name, parameter in self.named_parameters():
            if parameter.dim() == 2:
                ends = name.endswith("c_proj.weight")
                nn.init.normal_(parameter, 0, 0.02 / (2 * layers) ** 0.5 if ends else 0.02)

    def forward(self, words):
        x = self.wte(words) + self.wpe.weight[:words.shape[1]]
        for block in self.h:
            x = block(x)
        return self.ln_f(x) @ self.wte.weight.T

    def loss(self, words, answers):
        return functional.cross_entropy(self(words).flatten(0, 1), answers.flatten())

    def adamw(self, rate, beta2, decay):
        groups = [{"params": [p for p in self.parameters() if (p.dim() == 2) == matrices],
                   "weight_decay": decay if matrices else 0.0} for matrices in (True, False)]
        return torch.optim.AdamW(groups, lr=rate, betas=(0.9, beta2))


# Name: maker, smallest image that keeps every layer's order visible, image of the paper.
NETWORKS = {
    "mlp": (mlp, (3, 6, 5), (1, 28, 28)),
    "lenet": (LeNet, (2, 20, 28), (1, 28, 28)),
    "resnet20": (lambda *a: with_epsilon(ResNet20(*a)), (3, 16, 16), (3, 32, 32)),
    "mobilenet_v2": (mobilenet_v2, (3, 64, 64), (3, 224, 224)),
    "alexnet": (AlexNet, (3, 71, 103), (3, 227, 227)),
    "googlenet": (GoogLeNet, (3, 64, 64), (3, 224, 224)),
    "resnet18": (resnet18, (3, 64, 64), (3, 224, 224)),
    "resnet50": (resnet50, (3, 64, 64), (3, 224, 224)),
    "inception-resnet-figure": (inception_resnet_figure, (3, 80, 80), (3, 299, 299)),
    "inception-resnet": (inception_resnet, (3, 80, 80), (3, 299, 299)),
    "vgg16": (vgg16, (3, 64, 96), (3, 224, 224)),
}
GPT_SMALL = {"words": 65, "positions": 64, "layers": 4, "heads": 4, "units": 128, "bias": False}
SEQ2SEQ = {"words": 30, "units": 8, "layers": 2}
