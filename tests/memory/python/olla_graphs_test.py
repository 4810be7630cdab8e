"""The generator writes the graphs that `skyline reproduce olla` orders, byte by byte.

$SKYLINE_PYTHON names a Python that has torch, torchvision and transformers.
"""

import os
import pathlib
import sys
import tempfile
import unittest

try:
    import torchvision  # noqa: F401
    import transformers  # noqa: F401
except ImportError:
    other = os.environ.pop("SKYLINE_PYTHON", None)
    if other:
        os.execv(other, [other, *sys.argv])
    print("olla_graphs_test.py: Skipped\nthis Python lacks torchvision or transformers, and "
          "SKYLINE_PYTHON names no other")
    sys.exit(77)

from skyline import olla_graphs

SHIPPED = pathlib.Path(os.environ["SKYLINE_SOURCE"]) / "train/lab/olla/graphs"


class OllaGraphsTest(unittest.TestCase):
    def test_equal_the_shipped_files(self):
        with tempfile.TemporaryDirectory() as folder:
            olla_graphs.main(folder)
            written = {file.name: file.read_bytes() for file in pathlib.Path(folder).iterdir()}
        shipped = {file.name: file.read_bytes() for file in SHIPPED.iterdir()}
        self.assertEqual(len(shipped), 18)
        self.assertEqual(sorted(written), sorted(shipped))
        for name, text in shipped.items():
            self.assertEqual(written[name], text, name)


if __name__ == "__main__":
    unittest.main()
