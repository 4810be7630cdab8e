"""Tests of skyline.pytorch. $SKYLINE_PYTHON names a Python that has torch, of the same version."""

import functools
import os
import sys
import unittest

try:
    import torch
except ImportError:
    other = os.environ.pop("SKYLINE_PYTHON", None)
    if other:
        os.execv(other, [other, *sys.argv])
    print("pytorch_test.py: Skipped\nthis Python has no torch, and SKYLINE_PYTHON names no other")
    sys.exit(77)

from torch import nn

import skyline
from skyline.pytorch import step_graph_of


class Residual(nn.Module):
    """Views, ops in place, a branch and an op of several outputs."""

    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.relu = nn.ReLU(inplace=True)
        self.pool = nn.MaxPool2d(2)
        self.branch = nn.Conv2d(8, 8, 1)
        self.head = nn.Linear(8 * 16, 10)

    def forward(self, images):
        x = self.pool(self.relu(self.norm(self.conv(images))))
        return self.head(torch.flatten(x + self.branch(x), 1))


IMAGES = torch.ones(4, 3, 8, 8)


@torch.library.custom_op("skyline_test::with_room", mutates_args=())
def with_room(x: torch.Tensor, bytes: int) -> tuple[torch.Tensor, torch.Tensor]:
    if bytes < 0:
        raise RuntimeError("no such workspace")
    return x * 2, torch.empty(bytes, dtype=torch.uint8)


@with_room.register_fake
def _(x, bytes):
    return torch.empty_like(x), torch.empty(0, dtype=torch.uint8)


@torch.library.custom_op("skyline_test::with_room_gradient", mutates_args=())
def with_room_gradient(grad: torch.Tensor, room: torch.Tensor) -> torch.Tensor:
    return grad * 2


@with_room_gradient.register_fake
def _(grad, room):
    return torch.empty_like(grad)


def keep_room(ctx, inputs, output):
    ctx.save_for_backward(output[1])


with_room.register_autograd(
    lambda ctx, grad, _: (with_room_gradient(grad, *ctx.saved_tensors), None),
    setup_context=keep_room)


class Rooms(nn.Module):
    """An op of a library that keeps a workspace for backward; a negative size is refused."""

    def __init__(self, bytes):
        super().__init__()
        self.bytes = bytes

    def forward(self, x):
        return with_room(x, self.bytes)[0].sum()


def lambda_of(function, *layers):
    """Returns a module that calls a function of layers and inputs."""
    module = nn.ModuleList(layers)
    module.forward = lambda *inputs: function(*layers, *inputs)
    return module


def named(graph, name):
    return [op for op in graph.ops if op["name"] == name]


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.1, momentum=0.9, foreach=False)


class StepGraphOf(unittest.TestCase):
    def test_two_layers_are_as_on_paper(self):
        graph = step_graph_of(nn.Sequential(nn.Linear(6, 8, bias=False), nn.Tanh()),
                              torch.zeros(2, 6))
        bytes_of = [tensor["bytes"] for tensor in graph.tensors]
        self.assertEqual([op["name"] for op in graph.ops],
                         ["input", "mm", "tanh", "sum", "ones_like", "tanh_backward", "mm"])
        _, linear, tanh, _, _, tanh_backward, weights = graph.ops
        self.assertEqual([bytes_of[op["outputs"][0]] for op in graph.ops],
                         [48, 64, 64, 4, 4, 64, 192])
        self.assertEqual(tanh["inputs"], linear["outputs"])
        self.assertIn(tanh["outputs"][0], tanh_backward["inputs"])
        self.assertEqual(sorted(weights["inputs"]),
                         sorted([tanh_backward["outputs"][0], graph.ops[0]["outputs"][0]]))
        self.assertEqual(graph.resident_bytes, 6 * 8 * 4)
        kept = [i for i, tensor in enumerate(graph.tensors) if tensor.get("keep")]
        self.assertEqual(kept, [0, graph.ops[3]["outputs"][0], weights["outputs"][0]])
        self.assertEqual([op["phase"] for op in graph.ops], ["forward"] * 4 + ["backward"] * 3)

    def test_the_program_needs_what_pytorch_had_alive(self):
        layer = nn.TransformerEncoderLayer(32, 4, 64, batch_first=True)
        for module, inputs in ((Residual(), IMAGES), (layer, torch.ones(2, 5, 32)),
                               (nn.LSTM(4, 8), torch.ones(3, 2, 4)), (nn.GELU(), IMAGES)):
            for optimizer in (None, sgd) if list(module.parameters()) else (None,):
                inputs.requires_grad_(not list(module.parameters()))
                graph = step_graph_of(module, inputs, optimizer=optimizer)
                found = skyline.order(graph)
                # backward() holds the gradient that it begins with, one number, to its end.
                self.assertIn(graph.eager_peak - found.program_peak, (0, 4), type(module).__name__)
                self.assertTrue(found.proved_optimal)
                self.assertLessEqual(found.peak, graph.eager_peak)
                self.assertTrue(skyline.check(found.blocks, skyline.plan(found.blocks)))

    def test_views_are_the_values_that_they_show(self):
        graph = step_graph_of(nn.Flatten(), torch.zeros(2, 3, 4, requires_grad=True))
        self.assertEqual([op["name"] for op in graph.ops[:3]], ["input", "sum", "ones_like"])
        self.assertEqual([op["inputs"] for op in graph.ops[:2]], [[], [0]])

    def test_an_op_in_place_takes_its_inputs_place(self):
        graph = step_graph_of(Residual(), IMAGES)
        [relu] = named(graph, "relu_")
        self.assertEqual((len(relu["inputs"]), relu["in_place"]), (1, [[0, 0]]))
        [norm] = named(graph, "native_batch_norm")
        self.assertEqual(relu["inputs"], norm["outputs"][:1])
        [pool] = named(graph, "max_pool2d_with_indices")
        self.assertEqual(pool["inputs"], relu["outputs"])

    def test_readers_of_the_old_value_come_first(self):
        class Doubled(nn.Module):
            def forward(self, x):
                y = x * 2
                z = y + 1
                y.mul_(3)
                return y, z

        graph = step_graph_of(Doubled(), torch.zeros(3, requires_grad=True))
        [old_reader] = [i for i, op in enumerate(graph.ops) if op["name"] == "add"][:1]
        [writer] = named(graph, "mul_")
        self.assertIn(old_reader, writer["after"])

    def test_elementwise_ops_overwrite_if_asked(self):
        module = nn.Sequential(nn.Linear(6, 8), nn.Sigmoid())
        eager = step_graph_of(module, torch.zeros(50, 6))
        reused = step_graph_of(module, torch.zeros(50, 6), overwrite=True)
        self.assertNotIn("in_place", named(eager, "sigmoid")[0])
        self.assertEqual(named(reused, "sigmoid")[0]["in_place"], [[0, 0]])
        self.assertLess(skyline.order(reused).peak, skyline.order(eager).peak)

    def test_an_update_frees_gradients(self):
        without, updated = step_graph_of(Residual(), IMAGES), step_graph_of(Residual(), IMAGES,
                                                                           optimizer=sgd)
        kept = [sum(t.get("keep", False) for t in graph.tensors) for graph in (without, updated)]
        self.assertEqual(kept[0] - kept[1], len(list(Residual().parameters())))
        parameters = sum(p.nbytes for p in Residual().parameters())
        self.assertEqual(updated.resident_bytes - without.resident_bytes, parameters)  # velocity
        self.assertEqual({op["phase"] for op in updated.ops}, {"forward", "backward", "update"})
        self.assertLess(skyline.order(updated).peak, updated.eager_peak)

    def test_adam_is_read_where_it_is_fused(self):
        graph = step_graph_of(Residual(), IMAGES,
                              optimizer=lambda parameters: torch.optim.Adam(parameters, fused=True))
        self.assertEqual(len(named(graph, "_fused_adam_")), 1)

    def test_ops_know_their_layers(self):
        graph = step_graph_of(Residual(), IMAGES)
        layers = {(op["name"], op["layer"]) for op in graph.ops}
        self.assertLessEqual({("convolution", "conv"), ("convolution", "branch"), ("add", ""),
                              ("convolution_backward", "conv"), ("convolution_backward", "branch"),
                              ("native_batch_norm_backward", "norm")}, layers)

    def test_shared_weights_are_resident_once(self):
        embedding, head = nn.Embedding(10, 4), nn.Linear(4, 10, bias=False)
        head.weight = embedding.weight
        graph = step_graph_of(nn.Sequential(embedding, head), torch.zeros(3, dtype=torch.long))
        self.assertEqual(graph.resident_bytes, 10 * 4 * 4)

    def test_a_loss_is_needed_where_nothing_can_be_summed(self):
        with self.assertRaisesRegex(ValueError, "give a loss"):
            step_graph_of(nn.Flatten(), torch.zeros(2, 2, dtype=torch.long))

    def test_loss_and_named_inputs(self):
        def loss(output):
            return nn.functional.cross_entropy(output, torch.zeros(4, dtype=torch.long))

        graph = step_graph_of(Residual(), {"images": IMAGES}, loss=loss)
        self.assertEqual(len(named(graph, "nll_loss_forward")), 1)

    def test_the_module_is_not_changed(self):
        module = Residual()
        before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        step_graph_of(module, IMAGES, optimizer=sgd)
        for name, tensor in module.state_dict().items():
            self.assertTrue(torch.equal(tensor, before[name]), name)
        self.assertTrue(all(parameter.grad is None for parameter in module.parameters()))
        self.assertFalse(module.conv._forward_hooks or module.conv._forward_pre_hooks)
        layer = nn.Linear(8, 8)
        weight = layer.weight
        step_graph_of(nn.Sequential(layer, nn.Tanh(), layer, layer), torch.zeros(2, 8))
        self.assertIs(layer.weight, weight)

    def test_ops_that_draw_keep_their_sequence(self):
        class Noisy(nn.Module):
            def forward(self, x):
                a, b = nn.functional.dropout(x), torch.rand_like(x)
                return a * b + nn.functional.rrelu(x, training=True)

        graph = step_graph_of(Noisy(), torch.zeros(8, requires_grad=True))
        draws = [i for i, op in enumerate(graph.ops) if op["name"] in
                 ("bernoulli_", "native_dropout", "rand_like", "rrelu_with_noise")]
        self.assertEqual(len(draws), 3)
        for before, op in zip(draws, draws[1:]):
            self.assertIn(before, graph.ops[op]["after"])
        attention = nn.MultiheadAttention(8, 2)
        quiet = step_graph_of(lambda_of(lambda layer, x: layer(x, x, x, need_weights=False)[0] +
                                        nn.functional.dropout(x, 0.0), attention),
                              torch.zeros(3, 2, 8))
        for op in quiet.ops:
            self.assertNotIn("after", op, op["name"])

    def test_ops_that_write_a_buffer_keep_their_sequence(self):
        class Counter(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("seen", torch.zeros(8))

            def forward(self, x):
                self.seen.mul_(0.9).add_(x.detach().sum(0))
                return x + self.seen

        twice = step_graph_of(lambda_of(lambda norm, x: norm(norm(x) * 2), nn.BatchNorm1d(8)),
                              torch.zeros(4, 8))
        first, second = [i for i, op in enumerate(twice.ops) if op["name"] == "native_batch_norm"]
        self.assertIn(first, twice.ops[second]["after"])
        evaluated = step_graph_of(lambda_of(lambda norm, x: norm(norm(x) * 2),
                                            nn.BatchNorm1d(8).eval()), torch.zeros(4, 8))
        self.assertFalse(any("after" in op for op in evaluated.ops))
        counted = step_graph_of(lambda_of(lambda count, x: count(count(x)), Counter()),
                                torch.ones(4, 8, requires_grad=True))
        names = [op["name"] for op in counted.ops]
        multiply, read = names.index("mul_"), names.index("add")
        self.assertIn(multiply, counted.ops[names.index("add_")]["after"])
        self.assertIn(read, counted.ops[names.index("mul_", multiply + 1)]["after"])

    def test_a_librarys_workspace_is_found_by_running_the_op(self):
        graph = step_graph_of(Rooms(64), torch.zeros(100, requires_grad=True))
        [forward] = named(graph, "with_room")
        self.assertEqual([graph.tensors[out]["bytes"] for out in forward["outputs"]], [400, 64])
        # The gradient is no view of another value, as its fake form says.
        [backward] = named(graph, "with_room_gradient")
        self.assertEqual([graph.tensors[out]["bytes"] for out in backward["outputs"]], [400])
        with self.assertWarnsRegex(UserWarning, "layer '': .*with_room.* unknown size.*no such"):
            step_graph_of(Rooms(-1), torch.zeros(100, requires_grad=True))

    def test_a_frozen_module_gives_the_graph_of_inference(self):
        frozen = Residual().eval().requires_grad_(False)
        graph = step_graph_of(frozen, IMAGES)
        self.assertEqual({op["phase"] for op in graph.ops}, {"forward"})
        self.assertTrue(graph.tensors[graph.ops[-1]["outputs"][0]]["keep"])
        self.assertLess(graph.eager_peak, step_graph_of(Residual(), IMAGES).eager_peak)
        with torch.no_grad():
            self.assertEqual(step_graph_of(Residual().eval(), IMAGES).eager_peak, graph.eager_peak)
        lost = step_graph_of(frozen, IMAGES, loss=lambda scores: scores.square().mean())
        self.assertEqual(lost.ops[-1]["name"], "mean")
        with self.assertRaisesRegex(ValueError, "empty parameter list"):
            step_graph_of(frozen, IMAGES, optimizer=sgd)
        with torch.no_grad(), self.assertRaisesRegex(ValueError, "no parameter that is trained"):
            step_graph_of(Residual(), IMAGES, optimizer=sgd)
        ranked = step_graph_of(lambda_of(lambda x: x.sort()), torch.zeros(9))
        self.assertEqual([tensor.get("keep") for tensor in ranked.tensors], [True] * 3)

    def test_what_cannot_be_traced_is_named_with_its_layer(self):
        for function, message in (
                (lambda x: x * x.max().item(), "forward, layer '1': aten._local_scalar_dense.* num"),
                (lambda x: x[x > 0], "forward, layer '1': aten.nonzero.* numbers"),
                (lambda x: x @ x, "forward, layer '1': .*dim"),
                (lambda x: torch.from_numpy(x.detach().numpy()), "layer '1': .*numpy")):
            module = nn.Sequential(nn.Linear(6, 8), lambda_of(function))
            with self.assertRaisesRegex(ValueError, message):
                step_graph_of(module, torch.zeros(2, 6))
            self.assertFalse(module[0]._forward_hooks or module[0]._forward_pre_hooks)
        for optimizer in (torch.optim.ASGD, torch.optim.LBFGS):
            with self.assertRaisesRegex(ValueError, "update"):
                step_graph_of(nn.Linear(6, 8), torch.zeros(2, 6), optimizer=optimizer)

    def test_scripted_and_traced_modules_run_the_ops_of_the_module(self):
        module, sgd = Residual(), functools.partial(torch.optim.SGD, lr=0.1)
        expected = step_graph_of(module, IMAGES, optimizer=sgd)
        for scripted in (torch.jit.script(module),
                         torch.jit.trace(module, IMAGES, check_trace=False)):
            for form in (scripted, nn.Sequential(scripted)):
                for _ in range(3):  # TorchScript profiles its first runs
                    graph = step_graph_of(form, IMAGES, optimizer=sgd)
                    self.assertEqual(graph.eager_peak, expected.eager_peak)
                    self.assertEqual(graph.tensors, expected.tensors)
        with self.assertRaisesRegex(ValueError, "has no attribute 'forward'"):
            step_graph_of(torch.jit.script(nn.LSTM(4, 4)), torch.ones(3, 2, 4))

    def test_one_tensor_given_twice_is_one_value(self):
        x = torch.zeros(5, requires_grad=True)
        graph = step_graph_of(lambda_of(lambda a, b: a * b if a is b else a + b), (x, x))
        self.assertEqual(len(named(graph, "input")[0]["outputs"]), 1)
        self.assertEqual(len(named(graph, "mul")[0]["inputs"]), 1)

    def test_casts_of_weights_are_recomputed(self):
        def cast(layers, x):
            with torch.autocast("cpu", torch.bfloat16):
                return layers(x)

        graph = step_graph_of(lambda_of(cast, nn.Sequential(*[nn.Linear(64, 64) for _ in range(4)])),
                              torch.zeros(512, 64))
        casts = {i for i, op in enumerate(graph.ops)
                 if op["name"] == "_to_copy" and op["phase"] == "forward" and not op["inputs"]}
        curve = skyline.budget(graph, graph.eager_peak, [1e-3] * len(graph.ops)).curve
        self.assertGreater(len(curve), 1)
        self.assertTrue(any(casts & set(point.recomputed) for point in curve))

    def test_a_budget_recomputes_ops_of_forward(self):
        graph = step_graph_of(Residual(), IMAGES)
        found = skyline.budget(graph, graph.eager_peak * 9 // 10, [1] * len(graph.ops))
        self.assertLessEqual(found.point.peak, graph.eager_peak * 9 // 10)
        self.assertGreater(len(found.point.recomputed), 0)


if __name__ == "__main__":
    unittest.main()
