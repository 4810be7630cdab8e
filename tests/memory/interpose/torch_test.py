"""PyTorch programs run under libskyline_run.so with the losses that they have without it.

SKYLINE_RUN_LIBRARY names the library, SKYLINE_PYTHON a Python that has torch (default: this
one). Each program runs twice, in processes of its own; what it prints and its exit code must agree.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

LIBRARY = os.environ["SKYLINE_RUN_LIBRARY"]
HOOKS = str(pathlib.Path(LIBRARY).parent / "skyline_run_hooks")
PYTHON = os.environ.get("SKYLINE_PYTHON", sys.executable)
LONG = "SKYLINE_TEST_LONG" in os.environ  # else a few of each kind: importing torch takes seconds
PROGRAM = str(pathlib.Path(__file__).with_name("torch_program.py"))


def run(words, options=None):
    """Returns exit code, output, and the report (None without options)."""
    environment = dict(os.environ, OMP_NUM_THREADS="2", OMP_WAIT_POLICY="passive")
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "report"
        if options is not None:
            environment |= {"LD_PRELOAD": LIBRARY, "PYTHONPATH": HOOKS,
                            "SKYLINE_RUN": f"{options}\nreport={file}"}
        done = subprocess.run([PYTHON, PROGRAM, *words], env=environment, capture_output=True,
                              text=True)
        report = json.loads(file.read_text().splitlines()[0]) if file.exists() else None
        return (done.returncode, done.stdout), report, done.stderr


class TorchTest(unittest.TestCase):
    def same(self, *words, options=""):
        alone, _, errors = run(words)
        under, report, _ = run(words, options)
        self.assertEqual(under, alone, words)
        return report, alone, errors

    def planned(self, *words, deviating=False):
        report, (code, _), errors = self.same(*words)
        self.assertEqual(code, 0, errors)
        self.assertGreater(report["planned_requests"], 0, words)
        if not deviating:
            self.assertEqual(report["deviations"], 0, words)
            self.assertLessEqual(report["plan_bytes"], 1.05 * report["bound_bytes"], words)

    def test_networks(self):
        for name in ("resnet18", *(("resnet50", "lstm", "transformer", "gpt") if LONG else ())):
            with self.subTest(name):
                self.planned(name)

    def test_networks_of_torchvision(self):
        if subprocess.run([PYTHON, "-c", "import torchvision"], capture_output=True).returncode != 0:
            self.skipTest("torchvision is not installed")
        for name in ("mobilenet_v2", *(("resnet18", "resnet50") if LONG else ())):
            with self.subTest(name):
                self.planned(f"torchvision.{name}")

    def test_ways_to_write_a_loop(self):
        more = ("zero-before-backward", "keep-gradients", "accumulate") if LONG else ()
        for way in ("two-optimizers", "loader", *more):
            with self.subTest(way):
                self.planned("gpt", way)

    def test_steps_that_change(self):
        for way in ("small-last-batch", "evaluate", *(("lengths", "no-optimizer") if LONG else ())):
            with self.subTest(way):
                self.planned("gpt", way, deviating=way in ("small-last-batch", "lengths"))

    def test_every_allocator(self):
        more = ("best-fit-pool", "exact-pool", "bfc", "stitched", "network-wise") if LONG else ()
        for allocator in ("caching", *more):
            with self.subTest(allocator):
                self.same("resnet18", options=f"allocator={allocator}")

    def test_ends_that_come_early(self):
        _, (code, _), _ = self.same("gpt", "crash")
        self.assertEqual(code, 1)
        _, (code, _), _ = self.same("gpt", "interrupt")
        self.assertIn(code, (130, -signal.SIGINT))
        if LONG:
            _, (code, _), _ = self.same("gpt", "abort")
            self.assertEqual(code, -signal.SIGABRT)


if __name__ == "__main__":
    if subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode != 0:
        print("python_torch: Skipped\ntorch is not installed")
        sys.exit(77)
    unittest.main()
