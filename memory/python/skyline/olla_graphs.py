"""Writes the 18 training steps that `skyline reproduce olla` orders, as graph files.

    pip install torch torchvision transformers
    python -m skyline.olla_graphs FOLDER

Layers and shapes are those of torchvision's networks, run on tensors without memory, and of
transformers' configurations. Every op of an ordinary eager step is apart: the gradients of inputs and
of weights are two ops (that of a bias has its own after a dense layer, and is part of the other after
a convolution), contributions to one gradient are added one by one, updates are plain SGD at the end,
and nothing is in place. Resident are the parameters.

The transformers are their blocks with embedding and normalization: `bert` in RoBERTa's size over 256
words, `opt-125m` over 2047. Positions and heads are left out, and both have GELU, whose gradient
reads its input, where OPT's own ReLU would read its output.
"""

import json
import math
import pathlib
import sys

import torch
import torch.fx
import torchvision
import transformers
from torch.fx.passes.shape_prop import ShapeProp

FLOAT, INDEX, MASK = 4, 8, 1  # bytes of an element

CNNS = {"alexnet": (1, 32, 128), "vgg11": (1, 32), "vgg16": (64,), "resnet18": (1, 32),
        "resnet50": (1, 32), "squeezenet1_0": (1, 32), "googlenet": (1, 32),
        "mobilenet_v2": (1, 32)}


class Step:
    """A training step under construction: forward ops note what their backward will do."""

    def __init__(self):
        self.tensors, self.ops = [], []
        self.tape = []           # (output, function of its gradient)
        self.contributions = {}  # by tensor: its gradients, in the sequence in which they come
        self.weights = []        # (gradient of weights, the op that must read the weights before)

    def op(self, name, inputs, sizes):
        """Appends an op and returns its outputs, one a size in bytes."""
        first = len(self.tensors)
        self.tensors += [{"bytes": size} for size in sizes]
        outputs = list(range(first, len(self.tensors)))
        self.ops.append({"name": name, "inputs": inputs, "outputs": outputs})
        return outputs

    def bytes(self, tensor):
        return self.tensors[tensor]["bytes"]

    def contribute(self, tensor, gradient):
        self.contributions.setdefault(tensor, []).append(gradient)

    def back(self, name, inputs, to):
        """Appends the op of a gradient and contributes what it writes."""
        (gradient,) = self.op(name, inputs, [self.bytes(to)])
        self.contribute(to, gradient)

    # Forward ops. Each returns its output; sizes are in bytes.

    def unary(self, name, x, sizes, reads):
        """reads: what its gradient reads, of "input", "output" and "state", the second output."""
        outputs = self.op(name, [x], sizes)
        values = {"input": x, "output": outputs[0], "state": outputs[-1]}
        self.tape.append((outputs[0], lambda g: self.back(
            f"{name}_bwd", [g, *(values[value] for value in reads)], x)))
        return outputs[0]

    def pointwise(self, name, x, read):
        return self.unary(name, x, [self.bytes(x)], [read])

    def dropout(self, x):
        return self.unary("dropout", x, [self.bytes(x), self.bytes(x) // FLOAT * MASK], ["state"])

    def normalized(self, name, x, state, weights):
        """bn and ln: their gradient is that of the weights, too."""
        y, kept = self.op(name, [x], [self.bytes(x), state])

        def backward(g):
            of_x, of_weights = self.op(f"{name}_bwd", [g, x, kept], [self.bytes(x), weights])
            self.contribute(x, of_x)
            self.weights.append((of_weights, None))
        self.tape.append((y, backward))
        return y

    def weighted(self, name, x, size, weights, bias=0):
        """conv, fc and lin. bias: bytes of a gradient of its own."""
        (y,) = self.op(name, [x], [size])

        def backward(g):
            gradients = self.op(f"{name}_dW", [g, x], [weights])
            if bias:
                gradients = gradients + self.op(f"{name}_db", [g], [bias])
            reader = None
            if x != 0:  # the step's input needs no gradient
                reader = len(self.ops)
                self.back(f"{name}_dX", [g], x)
            self.weights += zip(gradients, [reader, None])
        self.tape.append((y, backward))
        return y

    def product(self, a, b, size):
        (y,) = self.op("bmm", [a, b], [size])

        def backward(g):
            self.back("bmm_dA", [g, b], a)
            self.back("bmm_dB", [g, a], b)
        self.tape.append((y, backward))
        return y

    def sum(self, a, b):
        (y,) = self.op("sum", [a, b], [self.bytes(a)])

        def backward(g):
            for term in (a, b):
                self.contribute(term, g)
        self.tape.append((y, backward))
        return y

    def cat(self, parts):
        (y,) = self.op("cat", parts, [sum(map(self.bytes, parts))])

        def backward(g):
            for part in parts:
                self.back("slice", [g], part)
        self.tape.append((y, backward))
        return y

    def embedding(self, ids, size, weights):
        (y,) = self.op("embed", [ids], [size])
        self.tape.append((y, lambda g: self.weights.append(
            (self.op("embed_bwd", [g, ids], [weights])[0], None))))
        return y

    def gradient_of(self, tensor):
        """Adds up the contributions, in the sequence in which they came."""
        total, *others = self.contributions.pop(tensor)
        for other in others:
            (total,) = self.op("add", [total, other], [self.bytes(tensor)])
        return total

    def finish(self, x):
        """Appends the loss, the backward pass and the updates."""
        size = self.bytes(x)
        _, saved = self.op("loss", [x], [FLOAT, size])
        self.contributions[x] = self.op("loss_bwd", [saved], [size])
        for output, backward in reversed(self.tape):
            backward(self.gradient_of(output))
        for gradient, reader in self.weights:
            self.op("update", [gradient], [])
            if reader is not None:
                self.ops[-1]["after"] = [reader]

    def text(self, name, parameters):
        return json.dumps({"format": "skyline-graph", "version": 1, "name": name,
                           "resident_bytes": parameters * FLOAT, "tensors": self.tensors,
                           "ops": self.ops}, separators=(",", ":"))


def size_of(*modules):
    return FLOAT * sum(p.numel() for module in modules for p in module.parameters())


class CnnStep(torch.fx.Interpreter):
    """Turns the layers of a traced network into a step."""

    def __init__(self, network, images):
        traced = torch.fx.symbolic_trace(network)
        ShapeProp(traced).propagate(images)
        super().__init__(traced)
        self.step = Step()

    def run_node(self, node):
        if node.op in ("placeholder", "output"):
            return super().run_node(node)
        args = [self.env[value] for value in node.all_input_nodes]
        shape = node.meta["tensor_meta"].shape
        size = FLOAT * math.prod(shape)
        layer = self.fetch_attr(node.target) if node.op == "call_module" else None
        kind = type(layer).__name__ if layer is not None else getattr(node.target, "__name__", "")
        return self.output_of(kind, layer, args, size, shape)

    def output_of(self, kind, layer, args, size, shape):
        step = self.step
        kinds = {
            "Conv2d": lambda x: step.weighted("conv", x, size, size_of(layer)),
            # the mean and deviation of each channel
            "BatchNorm2d": lambda x: step.normalized("bn", x, 2 * FLOAT * shape[1], size_of(layer)),
            "Linear": lambda x: step.weighted("fc", x, size, FLOAT * layer.weight.numel(),
                                              FLOAT * layer.bias.numel()),
            "ReLU": lambda x: step.pointwise("relu", x, "output"),
            "ReLU6": lambda x: step.pointwise("relu6", x, "input"),
            "MaxPool2d": lambda x: step.unary("maxpool", x, [size, size // FLOAT * INDEX],
                                               ["input", "state"]),
            "AdaptiveAvgPool2d": lambda x: step.unary("avgpool", x, [size], []),
            "Dropout": step.dropout,
            "add": step.sum,
            "cat": lambda *parts: step.cat(list(parts)),
            "flatten": lambda x: x,
        }
        kinds |= {"relu": kinds["ReLU"], "adaptive_avg_pool2d": kinds["AdaptiveAvgPool2d"],
                  "iadd": kinds["add"]}
        return kinds[kind](*args)


def cnn_text(network, batch):
    options = {"aux_logits": False, "init_weights": False} if network == "googlenet" else {}
    with torch.device("meta"):
        module = getattr(torchvision.models, network)(**options)
        images = torch.empty(batch, 3, 224, 224)
    interpreter = CnnStep(module, images)
    (pixels,) = interpreter.step.op("input", [], [FLOAT * images.numel()])
    last = interpreter.run(pixels)
    interpreter.step.finish(last)
    return interpreter.step.text(f"{network}-{batch}", size_of(module) // FLOAT)


class TransformerStep:
    """The parts of a transformer over some words; `inner` is the width of its dense layers."""

    def __init__(self, config, words, inner):
        self.step = Step()
        self.words, self.vocabulary, self.width = words, config.vocab_size, config.hidden_size
        self.inner, self.heads = inner, config.num_attention_heads
        self.parameters = 0

    def embedding(self):
        (ids,) = self.step.op("ids", [], [INDEX * self.words])
        self.parameters += self.vocabulary * self.width
        return self.step.embedding(ids, FLOAT * self.words * self.width,
                                   FLOAT * self.vocabulary * self.width)

    def norm(self, x):
        self.parameters += 2 * self.width
        return self.step.normalized("ln", x, 2 * FLOAT * self.words, 2 * FLOAT * self.width)

    def linear(self, x, inputs, outputs):
        self.parameters += inputs * outputs + outputs
        return self.step.weighted("lin", x, FLOAT * self.words * outputs,
                                  FLOAT * inputs * outputs, FLOAT * outputs)

    def attention(self, x):
        step, width = self.step, self.width
        query, key, value = (self.linear(x, width, width) for _ in range(3))
        scores = step.product(query, key, FLOAT * self.heads * self.words ** 2)
        shares = step.dropout(step.pointwise("softmax", scores, "output"))
        mixed = step.product(shares, value, step.bytes(x))
        return step.dropout(self.linear(mixed, width, width))

    def dense(self, x):
        hidden = self.step.pointwise("gelu", self.linear(x, self.width, self.inner), "input")
        return self.step.dropout(self.linear(hidden, self.inner, self.width))

    def text(self, name, last):
        self.step.finish(last)
        return self.step.text(name, self.parameters)


def bert_text():
    """Normalizes behind each sum."""
    config = transformers.RobertaConfig()
    step = TransformerStep(config, 256, config.intermediate_size)
    x = step.step.dropout(step.norm(step.embedding()))
    for _ in range(config.num_hidden_layers):
        for part in (step.attention, step.dense):
            x = step.norm(step.step.sum(x, part(x)))
    return step.text("bert-1", x)


def opt_text():
    """Normalizes in front of each part."""
    config = transformers.OPTConfig()
    step = TransformerStep(config, config.max_position_embeddings - 1, config.ffn_dim)
    x = step.step.dropout(step.embedding())
    for _ in range(config.num_hidden_layers):
        for part in (step.attention, step.dense):
            x = step.step.sum(x, part(step.norm(x)))
    return step.text("opt-125m-1", step.norm(x))


def main(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for network, batches in CNNS.items():
        for batch in batches:
            (folder / f"{network}-{batch}.json").write_text(cnn_text(network, batch))
    (folder / "bert-1.json").write_text(bert_text())
    (folder / "opt-125m-1.json").write_text(opt_text())


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m skyline.olla_graphs FOLDER")
    main(sys.argv[1])
