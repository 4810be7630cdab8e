"""Tests of skyline.plan, check and replay."""

import os
import random
import signal
import threading
import time
import unittest
from pathlib import Path

import numpy as np
import pandas as pd

import skyline

ROWS = [(0, 2, 1000), (1, 3, 500), (2, 4, 1000)]  # the third fits where the first was


def random_rows(seed, count=8):
    source = random.Random(seed)
    lowers = [source.randrange(10) for _ in range(count)]
    return [(lower, lower + source.randint(1, 6), source.randint(1, 9)) for lower in lowers]


def overlaps(rows, offsets):
    """Whether two blocks share a tick and a byte, found by looking at each pair."""
    return any(a[0] < b[1] and b[0] < a[1] and at < bt + b[2] and bt < at + a[2]
               for i, (a, at) in enumerate(zip(rows, offsets))
               for b, bt in list(zip(rows, offsets))[:i])


# No plan reaches the lower bound, 3, because the first block must leave a byte free below it. So
# searches that prove nothing never end early.
ABOVE_THE_BOUND = {"lower": [0, 0], "upper": [2, 1], "size": [1, 2], "offset": [1, -1]}
# Planners on the skyline do not use the gap, without which no plan reaches the lower bound, 8.
WITH_GAP = {"lower": [0, 1], "upper": [3, 2], "size": [8, 8], "gaps": ["1-2", ""]}


def threads():
    """How many threads the process has, whoever started them."""
    return len(os.listdir("/proc/self/task"))


class Plan(unittest.TestCase):
    def test_every_kind_of_blocks_gives_the_same_plan(self):
        frame = pd.DataFrame(ROWS, columns=["lower", "upper", "size"])
        named = np.array(ROWS, dtype=[("lower", "i8"), ("upper", "i4"), ("size", "u8")])
        columns = {"size": [1000, 500, 1000], "upper": [2, 3, 4], "lower": [0, 1, 2], "id": "abc"}
        for blocks in (ROWS, np.array(ROWS), np.array(ROWS, float), frame, frame.iloc[:, ::-1],
                       named, columns):
            found = skyline.plan(blocks)
            self.assertEqual(found.peak, 1500)
            self.assertEqual(found.offsets.tolist(), skyline.plan(ROWS).offsets.tolist())

    def test_says_what_is_proved(self):
        found = skyline.plan(ROWS)
        self.assertEqual((found.lower_bound, found.proved_bound, found.gap), (1500, 1500, 0))
        self.assertTrue(found.proved_optimal)
        stacked = skyline.plan(ABOVE_THE_BOUND, "exact")
        self.assertTrue(stacked.proved_optimal)
        self.assertEqual((stacked.peak, stacked.proved_bound, stacked.lower_bound), (4, 4, 3))
        self.assertFalse(skyline.plan(ABOVE_THE_BOUND, "greedy-by-size").proved_optimal)

    def test_every_planner_keeps_blocks_apart(self):
        for planner in skyline.planners:
            for seed in range(5):
                rows = random_rows(seed)
                found = skyline.plan(rows, planner)
                self.assertFalse(overlaps(rows, found.offsets.tolist()), (planner, seed))
                ends = [at + row[2] for at, row in zip(found.offsets, rows)]
                self.assertEqual(found.peak, max(ends))

    def test_alignment_is_an_argument_or_a_column(self):
        self.assertEqual(skyline.plan(ROWS, alignment=512).peak, 1536)
        columns = {"lower": [0, 0], "upper": [5, 5], "size": [10, 10], "alignment": [64, 8]}
        found = skyline.plan(columns)  # no size is rounded
        self.assertEqual((found.peak, found.offsets.tolist()), (26, [0, 16]))
        self.assertTrue(skyline.check(columns, found))
        self.assertFalse(skyline.check(columns, [0, 10]))
        self.assertEqual(skyline.plan(columns, alignment=1).peak, 20)
        self.assertEqual(skyline.plan(columns, alignment=64).peak, 128)

    def test_says_whether_a_plan_lies_within_the_capacity(self):
        self.assertIsNone(skyline.plan(ROWS).feasible)
        most = skyline.plan(ROWS).peak
        self.assertTrue(skyline.plan(ROWS, capacity=most).feasible)
        self.assertIs(skyline.plan(ROWS, capacity=most - 1).feasible, False)
        # No proof: the bound is 3, and this planner needs more than 4.
        self.assertIsNone(skyline.plan(ABOVE_THE_BOUND, "greedy-by-size", capacity=3).feasible)

    def test_stated_offsets_are_kept(self):
        frame = pd.DataFrame(ROWS, columns=["lower", "upper", "size"]).assign(offset=[np.nan, 0, -1])
        found = skyline.plan(frame)
        self.assertEqual(found.offsets.tolist(), [500, 0, 500])

    def test_gaps_free_bytes_for_others(self):
        columns = {"lower": [0, 1], "upper": [3, 2], "size": [8, 8]}
        self.assertEqual(skyline.plan(columns).peak, 16)
        self.assertEqual(skyline.plan({**columns, "gaps": ["1-2", ""]}).peak, 8)
        self.assertEqual(skyline.plan({**columns, "gaps": ["1-2@0:4", ""]}).peak, 16)

    def test_no_blocks_need_no_bytes(self):
        found = skyline.plan([])
        self.assertEqual((found.peak, len(found.offsets)), (0, 0))

    def test_bad_blocks_are_named(self):
        frame = pd.DataFrame(ROWS, columns=["lower", "upper", "size"])
        most = 2**63 - 1
        for blocks, message in (
                ([(0, 1, 5), (2, 2, 5)], "row 1, field upper: got 2, expected more than lower, 2"),
                ([(0, 1, -5)], "row 0, field size: got -5, expected no negative number"),
                ([(-1, 1, 5)], "row 0, field lower: got -1, expected no negative number"),
                ([(0, 1.5, 2)], "row 0, field upper: got 1.5, expected a whole number"),
                (frame.assign(size=[1, np.nan, 2]), "row 1, field size: got nan"),
                (frame.assign(size=["1", "x", "2"]), "row 0, field size: got '1'"),
                (frame.assign(size=[1, 2, 2**63]), "row 2, field size: got 9223372036854775808"),
                (frame.assign(offset=[0, -2, 0]), "row 1, field offset: got -2"),
                (frame.assign(gaps=["", "5", ""]), "row 1, field gaps: got '5', expected"),
                (frame.assign(gaps=["1-9", "", ""]), "block"),
                (frame.drop(columns="upper"), "no column upper"),
                ([(0, 1)], "shape"),
                ({"lower": [0, 1], "upper": [1], "size": [1]}, "differ in length"),
                ([(0, 1, most), (0, 1, most)], "9223372036854775807")):
            with self.assertRaisesRegex(ValueError, message.replace("(", "\\(")):
                skyline.plan(blocks)

    def test_bad_options_are_named(self):
        for options, message in (({"alignment": 0}, "alignment: got 0"),
                                 ({"capacity": 1.5}, "capacity: got 1.5"),
                                 ({"capacity": 2**64}, "capacity: got 18446744073709551616"),
                                 ({"time_limit": -1}, "time_limit: got -1"),
                                 ({"time_limit": "1"}, "time_limit: got '1'"),
                                 ({"threads": -1}, "threads: got -1"),
                                 ({"threads": 0}, "threads: got 0"),
                                 ({"threads": 1.5}, "threads: got 1.5"),
                                 ({"threads": 1025}, "threads: got 1025.* at most 1024"),
                                 ({"threads": True}, "threads: got True"),
                                 ({"seed": "x"}, "seed: got 'x'"),
                                 ({"planner": "best"}, 'unknown planner "best", expected one of '
                                  + ", ".join(skyline.planners))):
            with self.assertRaisesRegex(ValueError, message):
                skyline.plan(ROWS, **options)


class Solving(unittest.TestCase):
    def test_lets_other_threads_run(self):
        solving = threading.Thread(target=skyline.plan, args=(ABOVE_THE_BOUND, "hill-climb"),
                                   kwargs={"time_limit": 1})
        solving.start()
        time.sleep(0.01)  # returns only when this thread has the interpreter again
        self.assertTrue(solving.is_alive())
        solving.join()

    def test_ends_at_ctrl_c(self):
        # Programs in the background of a shell begin with the signal ignored.
        before = signal.signal(signal.SIGINT, signal.default_int_handler)
        self.addCleanup(signal.signal, signal.SIGINT, before)
        for planner, blocks in (("hill-climb", ABOVE_THE_BOUND), ("restarts", WITH_GAP)):
            before = threads()
            interrupt = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
            interrupt.start()
            with self.assertRaises(KeyboardInterrupt):
                skyline.plan(blocks, planner, time_limit=3600)
            until = time.monotonic() + 600  # the search would last an hour
            while threads() > before and time.monotonic() < until:
                time.sleep(0.01)
            self.assertLessEqual(threads(), before, f"{planner} goes on searching")


class Check(unittest.TestCase):
    def test_takes_a_plan_or_offsets(self):
        found = skyline.plan(ROWS, alignment=512)
        for verdict in (skyline.check(ROWS, found),
                        skyline.check(ROWS, found.offsets, alignment=512)):
            self.assertTrue(verdict)
            self.assertEqual((verdict.peak, verdict.lower_bound, verdict.reason), (1536, 1536, ""))

    def test_names_the_blocks_that_overlap(self):
        verdict = skyline.check(ROWS, [0, 999, 0])
        self.assertFalse(verdict)
        self.assertRegex(verdict.reason, "block 0 .* block 1 ")

    def test_finds_every_overlap_that_pairs_show(self):
        seen = set()
        for seed in range(200):
            rows, source = random_rows(seed), random.Random(-seed)
            offsets = [source.randrange(60) for _ in rows]
            self.assertEqual(bool(skyline.check(rows, offsets)), not overlaps(rows, offsets), seed)
            seen.add(overlaps(rows, offsets))
        self.assertEqual(seen, {False, True})

    def test_bad_offsets_are_named(self):
        self.assertRegex(skyline.check(ROWS, [0]).reason, "1")
        with self.assertRaisesRegex(ValueError, "row 1, field offset: got -4"):
            skyline.check(ROWS, [0, -4, 0])


class Package(unittest.TestCase):
    def test_has_the_version_of_its_wheel(self):
        project = Path(os.environ["SKYLINE_SOURCE"]) / "memory/python/pyproject.toml"
        self.assertIn(f'version = "{skyline.__version__}"', project.read_text())


class Replay(unittest.TestCase):
    def test_gives_a_row_for_each_allocator(self):
        rows = skyline.replay(ROWS)
        self.assertEqual([row.allocator for row in rows], skyline.allocators)
        table = pd.DataFrame(rows).set_index("allocator")
        self.assertTrue((table.requested == 1500).all())
        self.assertTrue((table.reserved >= table.requested).all())
        self.assertGreaterEqual(table.reserved["network-wise"], 2500)

    def test_counts_what_a_small_device_refuses(self):
        [row] = skyline.replay(ROWS, "network-wise", capacity=2048)
        self.assertEqual((row.refused, row.reserved <= 2048), (1, True))
        with self.assertRaisesRegex(ValueError, 'unknown allocator "nothing", .* bfc'):
            skyline.replay(ROWS, "nothing")


if __name__ == "__main__":
    unittest.main()
