"""Tests of memory/python/examples/draw_step.py."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

try:
    import matplotlib.image
except ImportError:
    print("draw_step_test.py: Skipped\nthis Python has no matplotlib")
    sys.exit(77)

SOURCE = Path(os.environ["SKYLINE_SOURCE"])


class DrawStep(unittest.TestCase):
    def test_draws_the_step_of_a_graph(self):
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "step.png"
            done = subprocess.run(
                [sys.executable, SOURCE / "memory/python/examples/draw_step.py",
                 SOURCE / "train/lab/olla/graphs/alexnet-32.json", "--output", picture],
                capture_output=True, text=True, check=True)
            pixels = matplotlib.image.imread(picture)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[1], "planned: 358792608 bytes, no plan needs less")
        self.assertEqual(lines[2], "reordered and planned: 152698880 bytes, no plan needs less")
        self.assertEqual(lines[3], "order: 152698880 bytes, no order needs less")
        self.assertEqual(pixels.shape[:2], (550, 1650))
        self.assertGreater(len({tuple(pixel) for pixel in pixels[::7, ::7].reshape(-1, 4)}), 10)


if __name__ == "__main__":
    unittest.main()
