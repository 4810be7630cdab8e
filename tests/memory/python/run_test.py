"""Tests of `skyline run` as the Python package has it."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from skyline import run

if not any((folder / "libskyline_run.so").exists() for folder in run.FOLDERS):
    print("run_test.py: Skipped\nlibskyline_run.so is not built")
    sys.exit(77)

# Steps that are marked: eight large blocks each, and one that outlives its step. The plan is made beside
# the program, so steps take a while.
PROGRAM = """
import ctypes, time
library = ctypes.CDLL(None)
library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
library.free.argtypes = [ctypes.c_void_p]
old = None
for _ in range(40):
    blocks = [library.malloc(100_000 * (1 + i)) for i in range(8)]
    library.free(old)
    old = blocks.pop()
    for block in blocks:
        library.free(block)
    library.skyline_step()
    time.sleep(0.05)
print("done")
"""


def answer(*words):
    """Returns the exit code, the output and the errors of `skyline run`."""
    done = subprocess.run([sys.executable, "-m", "skyline.run", "run", *words], capture_output=True,
                          text=True)
    return done.returncode, done.stdout, done.stderr


class Run(unittest.TestCase):
    def test_a_program_is_served_from_a_plan(self):
        code, output, _ = answer("--json", "--", sys.executable, "-c", PROGRAM)
        self.assertEqual(code, 0)
        first, report = output.splitlines()
        self.assertEqual(first, "done")
        report = json.loads(report)
        self.assertEqual(report["steps"], 40)
        self.assertGreater(report["planned_requests"], 0)
        code, output, _ = answer("--", sys.executable, "-c", PROGRAM)
        self.assertEqual(code, 0)
        self.assertIn("served by", output)

    def test_a_trace_serves_the_next_run_from_its_first_step_on(self):
        with tempfile.TemporaryDirectory() as folder:
            trace = str(Path(folder) / "step.csv")
            answer("--write-trace", trace, "--", sys.executable, "-c", PROGRAM)
            later = json.loads(answer("--json", "--plan", trace, "--", sys.executable, "-c",
                                      PROGRAM)[1].splitlines()[-1])
        once = json.loads(answer("--json", "--", sys.executable, "-c", PROGRAM)[1].splitlines()[-1])
        self.assertGreater(later["planned_requests"], once["planned_requests"])

    def test_exit_codes_are_the_programs(self):
        self.assertEqual(answer("--", "sh", "-c", "exit 7")[0], 7)
        self.assertEqual(answer("--", "sh", "-c", "kill -9 $$")[0], 128 + 9)
        code, _, errors = answer("--", "/no/such/program")
        self.assertEqual(code, 1)
        self.assertIn("cannot run /no/such/program: No such file", errors)

    def test_bad_options_are_named(self):
        for words, message in ((["--", ], "no command after --"),
                               (["--plan", "/none.csv", "--", "ls"], "no file '/none.csv'"),
                               (["--allocator", "best", "--", "ls"], "invalid choice: 'best'"),
                               (["--plan", "a", "--record", "b", "--", "ls"], "not allowed with")):
            code, _, errors = answer(*words)
            self.assertEqual(code, 2)
            self.assertIn(message, errors)

    def test_without_the_library_it_says_so(self):
        folders, run.FOLDERS = run.FOLDERS, ()
        try:
            with self.assertRaisesRegex(SystemExit, "built without libskyline_run.so"):
                run.run({}, ["ls"])
        finally:
            run.FOLDERS = folders


if __name__ == "__main__":
    unittest.main()
