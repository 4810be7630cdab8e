"""Tests of skyline.pytorch.within. $SKYLINE_PYTHON names a Python that has torch, of the same version.

    python3 within_test.py --table    # bytes, recomputes and seconds of all networks at all budgets
"""

import copy
import gc
import os
import sys
import unittest
import warnings
import weakref
from types import SimpleNamespace

try:
    import torch
except ImportError:
    other = os.environ.pop("SKYLINE_PYTHON", None)
    if other:
        os.execv(other, [other, *sys.argv])
    print("within_test.py: Skipped\nthis Python has no torch, and SKYLINE_PYTHON names no other")
    sys.exit(77)

from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from skyline.budgeted_step import Run
from skyline.pytorch import within
from skyline.saved_tensors import Call, Saved, Way


class Loss(nn.Module):
    """A module and the loss of its scores."""

    def __init__(self, module):
        super().__init__()
        self.module = module

    def forward(self, x, labels):
        scores = self.module(x)
        return functional.cross_entropy(scores.flatten(0, -2).float(), labels.flatten())


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                   for part in self.qkv(self.norm1(x)).chunk(3, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).flatten(2))
        return x + self.down(functional.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    def __init__(self, tied, blocks=3, width=32, words=60, heads=4, places=64):
        super().__init__()
        self.words, self.places = nn.Embedding(words, width), nn.Embedding(places, width)
        self.blocks = nn.Sequential(*[Block(width, heads) for _ in range(blocks)],
                                    nn.LayerNorm(width))
        self.head = nn.Linear(width, words, bias=False)
        if tied:
            self.head.weight = self.words.weight

    def forward(self, words):
        places = self.places(torch.arange(words.shape[1]))
        return self.head(self.blocks(self.words(words) + places))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(60, 16), nn.Linear(32, 60)
        self.lstm = nn.LSTM(16, 32, 2, batch_first=True)

    def forward(self, words):
        return self.head(self.lstm(self.words(words))[0])


class Translation(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(60, 16), nn.Linear(16, 60)
        self.transformer = nn.Transformer(16, 2, 2, 2, 32, dropout=0.1, batch_first=True)

    def forward(self, words):
        x = self.words(words)
        return self.head(self.transformer(x, x.flip(1)))


def plain_network():
    """Convolutions with an op in place, dropout and pooling."""
    def stage(before, after):
        return [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after),
                nn.ReLU(inplace=True)]
    return nn.Sequential(*stage(3, 16), *stage(16, 16), nn.MaxPool2d(2), nn.Dropout(0.3),
                         *stage(16, 32), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(128, 10))


def vision(name):
    import torchvision
    return torchvision.models.get_model(name, num_classes=10)


WORDS = torch.arange(48).reshape(2, 24) * 7 % 60
IMAGES = torch.sin(torch.arange(4 * 3 * 32 * 32.0)).reshape(4, 3, 32, 32)
LABELS = torch.arange(4)
TEXT, PICTURES = (WORDS, WORDS.roll(-1)), (IMAGES, LABELS)
LAST = (IMAGES.to(memory_format=torch.channels_last), LABELS)

NETWORKS = {
    "GPT, tied": (lambda: Loss(Gpt(tied=True)), TEXT),
    "GPT, untied": (lambda: Loss(Gpt(tied=False)), TEXT),
    "LSTM": (lambda: Loss(Recurrent()), TEXT),
    "nn.Transformer, dropout": (lambda: Loss(Translation()), TEXT),
    "in place, dropout": (lambda: Loss(plain_network()), PICTURES),
    "channels last": (lambda: Loss(plain_network()).to(memory_format=torch.channels_last), LAST),
    "resnet18": (lambda: Loss(vision("resnet18")), PICTURES),
    "resnet50": (lambda: Loss(vision("resnet50")), PICTURES),
    "mobilenet_v2": (lambda: Loss(vision("mobilenet_v2")), PICTURES),
}
BUDGETS = 8


def made(name):
    torch.manual_seed(3)
    make, inputs = NETWORKS[name]
    return make(), inputs


def step_of(module, inputs, before=lambda: None):
    """Returns the loss, all gradients and all buffers of one step."""
    torch.manual_seed(5)
    module.zero_grad()
    before()
    loss = module(*inputs)
    loss.backward()
    return [loss.detach(), *module.buffers(),
            *(p.grad for p in module.parameters() if p.grad is not None)]


def budgets_of(module, inputs, count=BUDGETS):
    """Returns budgets from the fewest bytes that were found to those of a step that keeps all."""
    full = within(module, 2**40, inputs=inputs, seconds="modelled")
    return [full.least + (full.all_kept - full.least) * i // (count - 1) for i in range(count)]


class Networks(unittest.TestCase):
    def check(self, name):
        module, inputs = made(name)
        expected = step_of(copy.deepcopy(module), inputs)
        for bytes in budgets_of(module, inputs):
            with self.subTest(name, bytes=bytes):
                other = copy.deepcopy(module)
                with warnings.catch_warnings(), within(other, bytes, inputs=inputs,
                                                       seconds="modelled") as step:
                    warnings.simplefilter("error")
                    found = step_of(other, inputs)
                self.assertTrue(all(map(torch.equal, found, expected)))
                self.assertLessEqual(step.planned, bytes)
                self.assertLessEqual(step.taken, step.planned)
                self.assertGreater(step.taken, 0.99 * step.planned)
                self.assertEqual(step.recomputed, step.planned_recomputes)
                self.assertLessEqual(step.least_extra_seconds, step.extra_seconds)


for name in NETWORKS:
    def check(self, name=name):
        self.check(name)
    setattr(Networks, "test_" + "_".join(name.replace(",", "").replace(".", " ").split()), check)


class Cube(torch.autograd.Function):
    """An op of one's own that saves an input and an intermediate value."""

    @staticmethod
    def forward(ctx, x):
        square = x * x
        ctx.save_for_backward(x, square)
        return square * x

    @staticmethod
    def backward(ctx, grad):
        x, square = ctx.saved_tensors
        return grad * (square + x * (x + x))


class Lambda(nn.Module):
    """A loss by a function of layers and inputs."""

    def __init__(self, function, *layers):
        super().__init__()
        self.layers, self.function = nn.ModuleList(layers), function

    def forward(self, *inputs):
        return self.function(*self.layers, *inputs)


def chain(layers, x, before=lambda x: x):
    for layer in layers:
        x = before(layer(x)).sigmoid()
    return x.square().mean()


def autocast(layers, x):
    with torch.autocast("cpu", torch.bfloat16):
        return chain(layers, x).float()


def chain_of(function=chain, **more):
    torch.manual_seed(3)
    return Lambda(lambda layers, x: function(layers, x, **more),
                  nn.Sequential(*[nn.Linear(16, 16) for _ in range(6)]))


ROWS = torch.cos(torch.arange(64 * 16.0)).reshape(64, 16)


def several(layers, x):
    low, high = layers[0](x).chunk(2, -1)
    values, places = torch.sort(torch.cat([high, low.exp()], -1))
    return (values.tanh() * torch.sigmoid(layers[1](values)) * places).mean()


def written(layers, x):
    """Parts of a buffer of the step's own, written one by one."""
    room = torch.zeros(4, *x.shape)
    for i, layer in enumerate(layers[:4]):
        room[i] = layer(x).tanh_()
    return room.square().mul_(2).mean()


def noise(layers, x):
    return chain(layers, x, lambda y: functional.dropout(y, 0.4) + torch.rand_like(y))


class Kinds(unittest.TestCase):
    """What steps are made of."""

    def check(self, module, inputs=(ROWS,), count=5):
        expected = step_of(copy.deepcopy(module), inputs)
        for bytes in budgets_of(module, inputs, count):
            other = copy.deepcopy(module)
            with warnings.catch_warnings(), within(other, bytes, inputs=inputs,
                                                   seconds="modelled") as step:
                warnings.simplefilter("error")
                for _ in range(2):
                    found = step_of(other, inputs)
            for buffer, once in zip(module.buffers(), other.buffers()):
                once.copy_(buffer)
            self.assertTrue(all(map(torch.equal, found, expected)), bytes)
            self.assertLessEqual(step.taken, bytes)
            self.assertEqual(step.recomputed, step.planned_recomputes)
        self.assertEqual(step.planned_recomputes, 0)
        return within(module, step.least, inputs=inputs, seconds="modelled")

    def test_casts(self):
        least = self.check(chain_of(autocast))
        self.assertGreater(least.planned_recomputes, 0)

    def test_ops_of_ones_own(self):
        least = self.check(chain_of(before=Cube.apply))
        self.assertGreater(least.planned_recomputes, 0)

    def test_ops_of_several_outputs(self):
        self.check(chain_of(several))

    def test_ops_that_write_parts(self):
        least = self.check(chain_of(written))
        self.assertGreater(least.planned_recomputes, 0)

    def test_random_numbers_are_kept(self):
        least = self.check(chain_of(noise))
        self.assertEqual(least.not_winnable["div_"], 6 * ROWS.nbytes)

    def test_shared_weights_and_a_module_that_runs_twice(self):
        layer = nn.Linear(16, 16)
        shared = Lambda(lambda layers, x: chain(layers, x), nn.Sequential(*[layer] * 5))
        self.check(shared)
        inner = chain_of()
        loss = {"loss": lambda first: first + inner(ROWS * 2)}
        expected = (lambda value: (value.backward(), value)[1])(loss["loss"](inner(ROWS)))
        grads = [p.grad for p in inner.parameters()]
        inner.zero_grad()
        full = within(inner, 2**40, inputs=ROWS, seconds="modelled", **loss)
        with warnings.catch_warnings(), within(inner, (full.least + full.all_kept) // 2, inputs=ROWS,
                                               seconds="modelled", **loss) as step:
            warnings.simplefilter("error")
            found = loss["loss"](inner(ROWS))
            found.backward()
        self.assertTrue(torch.equal(found, expected))
        self.assertTrue(all(map(torch.equal, grads, (p.grad for p in inner.parameters()))))
        self.assertGreater(step.recomputed, 0)

    def test_a_frozen_part(self):
        module = chain_of()
        for layer in module.layers[0][:3]:
            layer.requires_grad_(False)
        self.check(module)

    def test_checkpoints_inside(self):
        self.check(chain_of(lambda layers, x: chain(layers[3:], checkpoint(
            lambda x: layers[1](layers[0](x).sigmoid()).sigmoid(), x, use_reentrant=False))))

    def test_named_inputs_and_a_copy_of_the_module(self):
        module = Loss(Gpt(tied=True))
        named = {"x": WORDS, "labels": WORDS}
        expected = copy.deepcopy(module)
        expected(**named).backward()
        bytes = budgets_of(module, named)[2]
        with warnings.catch_warnings(), within(module, bytes, inputs=named,
                                               seconds="modelled") as step:
            warnings.simplefilter("error")
            module(**named).backward()
            copy.deepcopy(module)(**named)  # a step of another module
        for found, other in zip(module.parameters(), expected.parameters()):
            self.assertTrue(torch.equal(found.grad, other.grad))
        self.assertGreater(step.recomputed, 0)

    def test_gradients_that_add_up(self):
        def twice(module):
            for _ in range(2):
                module(ROWS).backward()
            return [p.grad for p in module.parameters()]

        module = chain_of()
        expected = twice(copy.deepcopy(module))
        bytes = budgets_of(module, (ROWS,))[3]
        with within(module, bytes, inputs=ROWS, seconds="modelled") as step:
            with self.assertWarnsRegex(UserWarning, "no plan for inputs"):
                found = twice(module)
            self.assertTrue(all(map(torch.equal, found, expected)))
            with warnings.catch_warnings():  # now the second half has a plan, too
                warnings.simplefilter("error")
                module.zero_grad()
                found = twice(module)
        self.assertTrue(all(map(torch.equal, found, expected)))
        self.assertLessEqual(step.taken, step.all_kept)
        module.zero_grad()
        module(ROWS).backward()
        with warnings.catch_warnings(), within(module, bytes, inputs=ROWS, seconds="modelled",
                                               accumulates=True) as step:
            warnings.simplefilter("error")
            module(ROWS).backward()
        self.assertTrue(all(map(torch.equal, (p.grad for p in module.parameters()), expected)))
        self.assertEqual(step.taken, step.planned)


class Differences(unittest.TestCase):
    """Steps that leave their plan."""

    def planned(self, module=None, bytes=None, inputs=(ROWS,)):
        module = module or chain_of()
        bytes = bytes or budgets_of(module, inputs)[1]
        return module, within(module, bytes, inputs=inputs, seconds="modelled")

    def test_another_batch_is_planned_when_it_comes_again(self):
        module, context = self.planned()
        inputs = (ROWS[:40],)
        expected = step_of(copy.deepcopy(module), inputs)
        with context as step:
            with self.assertWarnsRegex(UserWarning, r"no plan for inputs of \(40, 16\)"):
                found = step_of(module, inputs)
            self.assertEqual(step.recomputed, 0)
            self.assertTrue(all(map(torch.equal, found, expected)))
            step.bytes = step.least * 3 // 4
            found = step_of(module, inputs)
            self.assertTrue(all(map(torch.equal, found, expected)))
            self.assertGreater(step.recomputed, 0)

    def test_another_op_is_named_and_planned_when_it_comes_again(self):
        now = [torch.relu]
        module, context = self.planned(chain_of(before=lambda y: now[0](y)))
        first = step_of(copy.deepcopy(module), (ROWS,))
        with context as step:
            self.assertTrue(all(map(torch.equal, step_of(module, (ROWS,)), first)))
            now[0] = torch.tanh
            changed = step_of(copy.deepcopy(module), (ROWS,))
            with self.assertWarnsRegex(UserWarning, "aten.tanh.default ran where aten.relu.default"):
                self.assertTrue(all(map(torch.equal, step_of(module, (ROWS,)), changed)))
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                self.assertTrue(all(map(torch.equal, step_of(module, (ROWS,)), changed)))
            self.assertGreater(step.recomputed, 0)

    def test_a_difference_after_values_were_dropped(self):
        """What was dropped before it is recomputed, in whatever sequence backward asks."""
        last = [torch.exp]
        whole = Lambda(lambda inner, x: last[0](inner(x)), chain_of())
        bytes = budgets_of(whole, (ROWS,))[0]
        with within(whole, bytes, inputs=ROWS, seconds="modelled"):
            last[0] = torch.sqrt
            expected = step_of(copy.deepcopy(whole), (ROWS,))
            with self.assertWarnsRegex(UserWarning, "differs"):
                found = step_of(whole, (ROWS,))
        self.assertTrue(all(map(torch.equal, found, expected)))

    def test_backward_again_and_gradients_of_gradients(self):
        module = chain_of()
        bytes = budgets_of(module, (ROWS,))[2]

        def again(module, x):
            loss = module(x)
            loss.backward(retain_graph=True)
            first = [p.grad.clone() for p in module.parameters()]
            loss.backward()
            return [*first, *(p.grad for p in module.parameters())]

        def penalty(module, x):
            x = x.clone().requires_grad_()
            [grad] = torch.autograd.grad(module(x), x, create_graph=True)
            grad.square().sum().backward()
            return [p.grad for p in module.parameters() if p.grad is not None]

        for step in (again, penalty):
            expected = step(copy.deepcopy(module), ROWS)
            with within(module, bytes, inputs=ROWS, seconds="modelled"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                for _ in range(3):
                    module.zero_grad()
                    self.assertTrue(all(map(torch.equal, step(module, ROWS), expected)))

    def test_forward_alone_and_evaluation(self):
        module, context = self.planned()
        expected = step_of(copy.deepcopy(module), (ROWS,))
        with warnings.catch_warnings(), context as step:
            warnings.simplefilter("error")
            with torch.no_grad():
                module(ROWS)
            module(ROWS)  # nobody asks for its gradients
            found = step_of(module, (ROWS,))
        self.assertTrue(all(map(torch.equal, found, expected)))
        self.assertGreater(step.recomputed, 0)

    def test_two_forwards_before_one_backward(self):
        module, context = self.planned()
        alone = copy.deepcopy(module)
        (alone(ROWS) + alone(ROWS)).backward()
        with context, self.assertWarnsRegex(UserWarning, "differs from the traced step"):
            (module(ROWS) + module(ROWS)).backward()
        for found, expected in zip(module.parameters(), alone.parameters()):
            self.assertTrue(torch.equal(found.grad, expected.grad))

    def test_a_tensor_written_after_it_was_saved_is_an_error(self):
        def broken(layers, x):
            y = layers[0](x).exp()
            z = y.sum() + layers[1](x).sigmoid().sum()
            y.add_(1)
            return z

        module = chain_of(broken)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            step_of(copy.deepcopy(module), (ROWS,))
        with within(module, 2**40, inputs=ROWS, seconds="modelled"):
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                step_of(module, (ROWS,))

    def test_a_weight_written_before_backward_is_an_error(self):
        module, context = self.planned()
        with context:
            loss = module(ROWS)
            with torch.no_grad():
                module.layers[0][5].weight.mul_(2)
            with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
                loss.backward()

    def test_no_hook_is_left(self):
        for error in (None, KeyError("in the step")):
            module, context = self.planned()
            try:
                with context:
                    module(ROWS)
                    if error:
                        raise error
            except KeyError:
                pass
            self.assertFalse(module._forward_pre_hooks or module._forward_hooks)
            self.assertIsNone(torch._C._autograd._top_saved_tensors_default_hooks(True))
            self.assertEqual(torch.utils._python_dispatch._get_current_dispatch_mode(), None)

    def test_steps_before_are_let_go_without_a_collection(self):
        module, context = self.planned()
        gc.disable()
        try:
            with context:
                inputs = [ROWS.clone() for _ in range(3)]
                alive = [weakref.ref(x) for x in inputs]
                for _ in range(3):
                    step_of(module, (inputs.pop(),))
            self.assertEqual([x() for x in alive], [None] * 3)
        finally:
            gc.enable()

    def test_random_numbers_stay_the_same(self):
        module = chain_of(noise)
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        within(module, 2**40, inputs=ROWS)  # measures ops that draw some
        self.assertTrue(torch.equal(torch.rand(3), expected))


class LongSteps(unittest.TestCase):
    def test_a_chain_of_100000_ops_is_recomputed_without_recursion(self):
        count, x = 100_000, torch.ones(2)
        calls = [Call(torch.ops.aten.sin.default, i, "", (), shapes=((2,),), op=i, made=[(0, i)],
                      reads=[i - 1 if i else None]) for i in range(count)]
        plan = SimpleNamespace(
            calls=[*calls, None], saved=[Saved(count - 1, [(count, count)])], drops=[True], held=(),
            noted=set(map(id, calls)), given=(), before={}, begins=[0],
            recomputes={i: Way([calls[i]], [i - 1] if i else [], 0) for i in range(count)})
        run, y = Run(None, plan, [x], []), x
        for call in calls:
            y = run.call(call.func, (y,), {})
        expected, packed = y.clone(), run.pack(y)
        del y
        self.assertTrue(torch.equal(packed.unpack(), expected))


class Refusals(unittest.TestCase):
    def test_too_few_bytes_name_what_is_missing(self):
        module = chain_of()
        least = budgets_of(module, (ROWS,), 2)[0]
        with self.assertRaisesRegex(ValueError, f"got {least - 10}, but the least that was found is "
                                                f"{least}: 10 are missing at \\w+ of layer "):
            within(module, least - 10, inputs=ROWS, seconds="modelled")

    def test_compiled_modules_are_refused_by_name(self):
        module = chain_of()
        module.layers[0][2] = torch.compile(module.layers[0][2])
        with self.assertRaisesRegex(ValueError, r"layer 'layers.0.2': torch.compile'd"):
            within(module, 2**40, inputs=ROWS)
        whole = chain_of()
        whole.compile()
        with self.assertRaisesRegex(ValueError, "torch.compile'd"):
            within(whole, 2**40, inputs=ROWS)

    def test_a_loss_is_asked_for(self):
        with self.assertRaisesRegex(ValueError, "loss="):
            within(nn.Linear(4, 4), 2**40, inputs=torch.zeros(2, 4))
        frozen = chain_of().requires_grad_(False)
        with self.assertRaisesRegex(ValueError, "no backward"):
            within(frozen, 2**40, inputs=ROWS)
        with self.assertRaisesRegex(ValueError, '"measured" or "modelled"'):
            within(chain_of(), 2**40, inputs=ROWS, seconds="guessed")

    def test_seconds_are_measured_or_modelled(self):
        module = chain_of()
        for kind in ("measured", "modelled"):
            step = within(module, budgets_of(module, (ROWS,))[2], inputs=ROWS, seconds=kind)
            self.assertEqual(step.seconds_from, kind)
            self.assertGreater(step.extra_seconds, 0)
            self.assertGreater(step.hook_seconds, 0)
            self.assertGreater(step.step_seconds, step.extra_seconds + step.hook_seconds)


def print_table():
    print(f"{'':24}{'budget':>12}{'planned':>12}{'taken':>12}  recomputed  longer by (at least)")
    for name in NETWORKS:
        module, inputs = made(name)
        for bytes in budgets_of(module, inputs):
            with within(module, bytes, inputs=inputs, seconds="modelled") as step:
                step_of(module, inputs)
            base = (step.step_seconds - step.extra_seconds) / 100
            print(f"{name:24}{bytes:12,}{step.planned:12,}{step.taken:12,}{step.recomputed:12}"
                  f"{step.extra_seconds / base:8.2f} % ({step.least_extra_seconds / base:.2f} %)")


if __name__ == "__main__":
    if "--table" in sys.argv:
        print_table()
    else:
        unittest.main()
