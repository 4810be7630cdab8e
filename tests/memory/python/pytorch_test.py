"""Tests of skyline.pytorch. $SKYLINE_PYTHON names a Python that has torch, of the same version."""

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

    def test_a_budget_recomputes_ops_of_forward(self):
        graph = step_graph_of(Residual(), IMAGES)
        found = skyline.budget(graph, graph.eager_peak * 9 // 10, [1] * len(graph.ops))
        self.assertLessEqual(found.point.peak, graph.eager_peak * 9 // 10)
        self.assertGreater(len(found.point.recomputed), 0)


if __name__ == "__main__":
    unittest.main()
