"""Tests of skyline.fits. $SKYLINE_PYTHON names a Python that has torch, of the same version."""

import contextlib
import io
import os
import sys
import tempfile
import textwrap
import unittest
from pathlib import Path
from unittest import mock

try:
    import torch
except ImportError:
    other = os.environ.pop("SKYLINE_PYTHON", None)
    if other:
        os.execv(other, [other, *sys.argv])
    print("fits_test.py: Skipped\nthis Python has no torch, and SKYLINE_PYTHON names no other")
    sys.exit(77)

from torch import nn

import skyline
from skyline.fits import ScriptStep, fits, main
from skyline.pytorch import step_graph_of

SCRIPT = """
    import sys, torch
    from torch import nn
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(64, 256), nn.Dropout(0.1), nn.ReLU(), nn.Linear(256, 10))
    before = [p.clone() for p in model.parameters()]
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    batch = int(sys.argv[sys.argv.index("--batch") + 1]) if "--batch" in sys.argv else 32
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(
        torch.zeros(4096, 64), torch.zeros(4096, dtype=torch.long)), batch_size=batch)
    with torch.no_grad():
        model(torch.zeros(1, 64))  # no training step
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(input=model(x), target=y)
        print("the loss is", loss.item())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        try:
            optimizer.step()
        except Exception:
            pass
        raise SystemExit("the real step ran")
"""


def traced(text, *arguments):
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        Path(folder, "train.py").write_text(textwrap.dedent(text))
        return ScriptStep().trace(str(Path(folder, "train.py")), arguments)


def answer(*arguments):
    """Returns the exit status and the output of the program for SCRIPT."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(textwrap.dedent(SCRIPT))
        with mock.patch.object(sys, "argv", ["fits", str(Path(folder, "train.py")), *arguments]), \
                contextlib.redirect_stdout(io.StringIO()) as output:
            return main(), output.getvalue()


def network():
    return nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 10))


def adam(parameters):
    return torch.optim.AdamW(parameters, lr=0.1)


X, Y = torch.zeros(32, 64), torch.zeros(32, dtype=torch.long)
PARAMETERS = 4 * (64 * 256 + 256 + 256 * 10 + 10)


class Classified(nn.Module):
    def __init__(self):
        super().__init__()
        self.network = network()

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.network(x), y)


class Fits(unittest.TestCase):
    def test_bytes_are_those_of_the_step(self):
        fit = fits(Classified(), (X, Y), 2**30, optimizer=adam)
        self.assertEqual(fit.resident, 3 * PARAMETERS + 4 * 4)  # Adam's moments and its four counts
        self.assertEqual(fit.gradients, PARAMETERS)
        self.assertEqual(fit.inputs, X.nbytes + Y.nbytes)
        graph = step_graph_of(Classified(), (X, Y), optimizer=adam)
        self.assertLess(abs(fit.step - graph.eager_peak) / graph.eager_peak, 0.02)
        self.assertEqual(set(fit.reserved), set(skyline.allocators))
        for name, bytes in fit.reserved.items():
            self.assertGreaterEqual(bytes, fit.bound, name)
        self.assertGreaterEqual(fit.planned, fit.bound)
        self.assertEqual(fit.bound, fit.resident + fit.step)

    def test_the_largest_batch_fits_and_the_next_one_does_not(self):
        memory = 24 * 2**20
        fit = fits(Classified(), (X, Y), memory, optimizer=adam, largest_batch=True)
        self.assertGreater(fit.largest_batch, 32)
        for batch, expected in ((fit.largest_batch, True), (fit.largest_batch + 1, False)):
            inputs = (torch.zeros(batch, 64), torch.zeros(batch, dtype=torch.long))
            self.assertEqual(fits(Classified(), inputs, memory, optimizer=adam).fits, expected)
        self.assertEqual(fits(Classified(), (X, Y), 100, largest_batch=True).largest_batch, 0)

    def test_what_within_would_do(self):
        module = nn.Sequential(*[layer for _ in range(8) for layer in (nn.Linear(64, 64), nn.GELU())])
        x = torch.zeros(4096, 64)
        full = fits(module, x, 2**30, loss=lambda y: y.sum())
        self.assertEqual(full.within.planned_recomputes, 0)
        less = fits(module, x, full.resident + full.step * 8 // 10, loss=lambda y: y.sum())
        self.assertFalse(less.fits)
        self.assertGreater(less.within.planned_recomputes, 0)
        self.assertRegex(str(less), r"does not fit[\s\S]*within fits: \d+\.\d % longer \(at least")
        none = fits(module, x, full.resident + 10, loss=lambda y: y.sum())
        self.assertIsNone(none.within)
        self.assertRegex(str(none), "within does not fit: bytes: got 10, but the least")
        self.assertIn("No accuracy was measured", str(none))


class Scripts(unittest.TestCase):
    def test_a_script_is_traced_to_its_optimizers_step(self):
        trace = traced(SCRIPT)
        self.assertEqual({op["phase"] for op in trace.ops}, {"forward", "backward", "update"})
        self.assertEqual(trace.gradients, PARAMETERS)
        self.assertEqual(sum(trace.residents), 3 * PARAMETERS + 4 * 4 + Y.nbytes)
        inputs = [trace.tensors[value]["bytes"] for value in trace.given]
        self.assertEqual(inputs, [X.nbytes])
        self.assertIs(nn.Module.__call__, nn.Module._wrapped_call_impl)

    def test_the_program_says_whether_it_fits(self):
        status, output = answer("--device-memory", "1GiB")
        self.assertEqual(status, 0)
        self.assertRegex(output, r"the loss is 0\n")
        self.assertRegex(output, r"gradients +0\.1 MiB\n")
        status, output = answer("--device-memory", "0.1MiB", "--", "--batch", "64")
        self.assertEqual(status, 1)
        self.assertRegex(output, r"caching +\d+\.0 MiB  does not fit")

    def test_batches_by_an_option_of_the_script(self):
        status, output = answer("--device-memory", "6MiB", "--batch-option=--batch")
        batch = int(output.split("allocator: ")[1].split()[0])
        self.assertGreater(batch, 32)
        for more, fits_then in ((0, 0), (1, 1)):
            self.assertEqual(answer("--device-memory", "6MiB", "--", "--batch", str(batch + more))[0],
                             fits_then)

    def test_bad_scripts_and_sizes_are_named(self):
        with self.assertRaisesRegex(ValueError, "ended before the step of an optimizer"):
            traced("print('no step')")
        with self.assertRaisesRegex(ValueError, "forward, layer '': aten.nonzero"):
            traced(SCRIPT.replace("print(", "x[x > 0]; print("))
        with self.assertRaisesRegex(ZeroDivisionError, "division"):
            traced("1 / 0")
        with self.assertRaises(SystemExit), contextlib.redirect_stderr(io.StringIO()) as said:
            answer("--device-memory", "24Gigs")
        self.assertIn("expected a number and one of", said.getvalue())


if __name__ == "__main__":
    unittest.main()
