"""A PyTorch program that knows nothing of Skyline: `torch_program.py NETWORK [WAY]` prints its losses.

NETWORK is resnet18, resnet50, lstm, transformer, gpt or torchvision.NAME; WAY is how its loop is
written, or how it ends.
"""

import os
import signal
import sys

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 10
WAY = sys.argv[2] if len(sys.argv) > 2 else "plain"


class Bottleneck(nn.Module):
    def __init__(self, wide, inner, out, stride):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(wide, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.ReLU(inplace=True),
            nn.Conv2d(inner, inner, 3, stride, 1, bias=False), nn.BatchNorm2d(inner),
            nn.ReLU(inplace=True), nn.Conv2d(inner, out, 1, bias=False), nn.BatchNorm2d(out))
        self.side = nn.Identity() if wide == out and stride == 1 else nn.Sequential(
            nn.Conv2d(wide, out, 1, stride, bias=False), nn.BatchNorm2d(out))

    def forward(self, x):
        return F.relu(self.body(x) + self.side(x))


def resnet(blocks, spread):
    layers, wide = [nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(inplace=True),
                    nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(blocks):
        inner = 64 << stage
        for block in range(count):
            layers.append(Bottleneck(wide, inner, inner * spread, 2 if stage > 0 and block == 0 else 1))
            wide = inner * spread
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(wide, 100))


class Attention(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.mlp = nn.Sequential(nn.Linear(channels, 4 * channels), nn.GELU(),
                                 nn.Linear(4 * channels, channels), nn.Dropout(0.1))

    def forward(self, x):
        n, t, c = x.shape
        q, k, v = (part.view(n, t, self.heads, -1).transpose(1, 2)
                   for part in self.qkv(self.before(x)).split(c, 2))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, t, c))
        return x + self.mlp(self.after(x))


class Gpt(nn.Module):
    def __init__(self, words=256, channels=128, layers=4, length=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, channels), nn.Embedding(length, channels)
        self.blocks = nn.Sequential(*(Attention(channels, channels // 32) for _ in range(layers)))
        self.head = nn.Linear(channels, words, bias=False)

    def forward(self, tokens):
        x = self.words(tokens) + self.places(torch.arange(tokens.shape[1]))
        return self.head(self.blocks(x)).flatten(0, 1)


class Lstm(nn.Module):
    def __init__(self, channels=256):
        super().__init__()
        self.words = nn.Embedding(256, channels)
        self.body = nn.LSTM(channels, channels, 2, batch_first=True)
        self.head = nn.Linear(channels, 256)

    def forward(self, tokens):
        return self.head(self.body(self.words(tokens))[0]).flatten(0, 1)


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(256, 128)
        self.body = nn.Transformer(128, 4, 2, 2, 256, batch_first=True)
        self.head = nn.Linear(128, 256)

    def forward(self, tokens):
        x = self.words(tokens)
        return self.head(self.body(x, x)).flatten(0, 1)


def vision(name):
    import torchvision
    return torchvision.models.get_model(name, num_classes=100)


def text(count, length=64):
    tokens = torch.randint(256, (count, length))
    return tokens, tokens.flatten()


def images(count):
    return torch.randn(count, 3, 64, 64), torch.randint(100, (count,))


class Texts(torch.utils.data.Dataset):
    def __len__(self):
        return 16 * STEPS

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        return torch.randint(256, (64,), generator=generator)


def batches(make):
    if WAY == "loader":
        for tokens in torch.utils.data.DataLoader(Texts(), 16, num_workers=2):
            yield tokens, tokens.flatten()
        return
    for step in range(STEPS):
        if WAY == "lengths":
            yield text(8, 40 + 4 * (step * 7 % 6))
        elif WAY == "small-last-batch" and step % 5 == 4:
            yield make(5)
        else:
            yield make(8)


def end_early(step):
    if step != 6:
        return
    if WAY == "crash":
        raise RuntimeError("the program's own error")
    if WAY == "interrupt":
        os.kill(os.getpid(), signal.SIGINT)
    if WAY == "abort":
        os.abort()


def main():
    torch.manual_seed(1)
    family, _, name = sys.argv[1].partition(".")
    make_model, make_batch = {
        "torchvision": (lambda: vision(name), images),
        "resnet18": (lambda: resnet([2, 2, 2, 2], 1), images),
        "resnet50": (lambda: resnet([3, 4, 6, 3], 4), images),
        "lstm": (Lstm, text), "transformer": (Translator, text), "gpt": (Gpt, text)}[family]
    model = make_model()
    if make_batch is images:
        model = model.to(memory_format=torch.channels_last)
        optimizers = [torch.optim.SGD(model.parameters(), 0.01, momentum=0.9)]
    elif WAY == "two-optimizers":
        body = list(model.blocks.parameters())
        optimizers = [torch.optim.AdamW(body, 1e-3),
                      torch.optim.SGD([*model.words.parameters(), *model.head.parameters()], 0.1)]
    elif WAY == "no-optimizer":
        optimizers = []
    else:
        optimizers = [torch.optim.AdamW(model.parameters(), 1e-3)]
    for step, (inputs, labels) in enumerate(batches(make_batch)):
        if WAY != "zero-before-backward" and (WAY != "accumulate" or step % 2 == 0):
            for one in optimizers:
                one.zero_grad(set_to_none=WAY != "keep-gradients")
        loss = F.cross_entropy(model(inputs), labels)
        if WAY == "zero-before-backward":
            optimizers[0].zero_grad()
        loss.backward()
        if WAY == "no-optimizer":
            model.zero_grad()
        if WAY != "accumulate" or step % 2 == 1:
            for one in optimizers:
                one.step()
        print(step, repr(loss.item()), flush=True)
        end_early(step)
        if WAY == "evaluate" and step % 3 == 2:
            with torch.no_grad():
                print("test", repr(F.cross_entropy(model(inputs), labels).item()))


if __name__ == "__main__":
    main()
