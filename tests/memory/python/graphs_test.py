"""Tests of skyline.order and skyline.budget."""

import heapq
import itertools
import json
import random
import tempfile
import unittest
from pathlib import Path

import pandas as pd

import skyline


def op(name, inputs, outputs, **more):
    return {"name": name, "inputs": inputs, "outputs": outputs, **more}


def network(layers):
    """Returns a chain of layers forth and back; layer i keeps its output for its gradient."""
    forward = [op(f"layer {i}", [i - 1] if i else [], [i], phase="forward") for i in range(layers)]
    backward = [op(f"layer {i} gradient", [i] + ([2 * layers - 2 - i] if i < layers - 1 else []),
                   [2 * layers - 1 - i], phase="backward") for i in reversed(range(layers))]
    return skyline.StepGraph([{"bytes": 100}] * (2 * layers), forward + backward)


def random_graph(seed):
    source = random.Random(seed)
    ops = [op(f"op {i}", source.sample(range(i), min(i, source.randint(0, 2))), [i],
              workspace=source.choice([0, 0, 5])) for i in range(7)]
    return skyline.StepGraph([{"bytes": source.randint(1, 20)} for _ in ops], ops)


def peak_of(graph, order):
    """Returns the most bytes at one op, by the rules of StepGraph; None if an op comes too early."""
    readers = {tensor: {i for i, op in enumerate(graph.ops) if tensor in op["inputs"]}
               for tensor in range(len(graph.tensors))}
    alive, done, peak = set(), set(), 0
    for i in order:
        if not set(graph.ops[i]["inputs"]) <= alive:
            return None
        alive |= set(graph.ops[i]["outputs"])
        peak = max(peak, graph.ops[i].get("workspace", 0) +
                   sum(graph.tensors[tensor]["bytes"] for tensor in alive))
        done.add(i)
        alive = {tensor for tensor in alive if not readers[tensor] <= done}
    return peak


def step_of_two_values(seed):
    """Returns a step whose ops of forward write one or two values, some in place, and its seconds."""
    source, tensors, ops = random.Random(seed), [], []

    def values(count):
        tensors.extend({"bytes": source.randint(1, 9)} for _ in range(count))
        return list(range(len(tensors) - count, len(tensors)))

    made = []
    for i in range(4):
        inputs = sorted(set(source.sample(made, min(len(made), source.randint(0, 2)))))
        outputs = values(source.randint(1, 2))
        pairs = [[0, 0]] if inputs and source.random() < 0.4 else []
        if pairs:
            tensors[outputs[0]]["bytes"] = tensors[inputs[0]]["bytes"]
        ops.append(op(f"forward {i}", inputs, outputs, phase="forward", in_place=pairs))
        made += outputs
    for i in range(4):
        read = sorted(set(source.sample(made, source.randint(1, 2)) + ops[-1]["outputs"][:1]))
        ops.append(op(f"backward {i}", read, values(1), phase="backward",
                      workspace=source.choice([0, 5])))
    return skyline.StepGraph(tensors, ops), [source.randint(1, 9) for _ in ops]


def least_seconds(graph, seconds, most_bytes):
    """Returns the least extra seconds within the bytes, of any order and any recomputes of forward:
    Dijkstra's algorithm over what was done and what is alive."""
    def size(values):
        return sum(graph.tensors[value]["bytes"] for value in values)

    queue, known, everything = [(0, 0, (), ())], set(), tuple(range(len(graph.ops)))
    number = itertools.count()
    while queue:
        spent, _, done, alive = heapq.heappop(queue)
        if done == everything:
            return spent
        if (done, alive) in known:
            continue
        known.add((done, alive))
        for i, row in enumerate(graph.ops):
            again = i in done
            if not set(row["inputs"]) <= set(alive) or (again and row["phase"] == "backward"):
                continue
            new = set(row["outputs"]) - set(alive)
            over = {row["outputs"][o] for _, o in row.get("in_place", ())} & new
            replaced = {row["inputs"][p] for p, o in row.get("in_place", ())
                        if row["outputs"][o] in over}
            for gone, free in ((set(), set()), (replaced, over)):
                if size(set(alive) | (new - free)) + row.get("workspace", 0) > most_bytes:
                    continue
                heapq.heappush(queue, (spent + again * seconds[i], next(number),
                                       tuple(sorted({*done, i})),
                                       tuple(sorted((set(alive) - gone) | new))))
        for value in alive:
            heapq.heappush(queue, (spent, next(number), done,
                                   tuple(other for other in alive if other != value)))
    return float("inf")


def random_region(seed, graph, seconds):
    """Returns two ops of one phase and all ops on paths between them, in 2 or 3 rounds."""
    source = random.Random(seed)
    first = source.choice((0, 4))
    low, high = sorted(source.sample(range(first, first + 4), 2))
    writer = {tensor: i for i, row in enumerate(graph.ops) for tensor in row["outputs"]}

    def follow(op):  # the ops that need it
        found = {op}
        for i in range(op + 1, len(graph.ops)):
            if any(writer[tensor] in found for tensor in graph.ops[i]["inputs"]):
                found.add(i)
        return found

    ops = [i for i in range(low, high + 1) if i in (low, high) or (i in follow(low) and
                                                                  high in follow(i))]
    taken = sum(seconds[i] for i in ops)
    return {"ops": ops, "rounds": {2: (source.randint(0, 9), taken + source.randint(-1, 2)),
                                   3: (source.randint(0, 5), taken + source.randint(0, 4))}}


def step_in_rounds(graph, seconds, region, count):
    """Returns the graph and the seconds in which one op has replaced the region's."""
    ops, outside = region["ops"], [row for i, row in enumerate(graph.ops) if i not in region["ops"]]
    inside = {tensor for i in ops for tensor in graph.ops[i]["outputs"]}
    read = {tensor for row in outside for tensor in row["inputs"]}
    workspace, taken = region["rounds"][count]
    replacing = op("rounds", sorted({t for i in ops for t in graph.ops[i]["inputs"]} - inside),
                   sorted(inside & read), phase=graph.ops[ops[0]]["phase"], workspace=workspace)
    kept = [seconds[i] for i in range(len(graph.ops)) if i not in ops]
    return skyline.StepGraph(graph.tensors, outside + [replacing]), kept + [taken]


class Order(unittest.TestCase):
    def test_no_sequence_has_a_lower_peak(self):
        for seed in range(10):
            graph = random_graph(seed)
            peaks = [peak_of(graph, order) for order in itertools.permutations(range(7))]
            found = skyline.order(graph)
            self.assertEqual(found.peak, min(peak for peak in peaks if peak is not None), seed)
            self.assertEqual(found.peak, peak_of(graph, found.order))
            self.assertEqual(found.program_peak, peak_of(graph, range(7)))
            self.assertTrue(found.proved_optimal)

    def test_blocks_are_those_of_the_order(self):
        found = skyline.order(random_graph(1))
        self.assertEqual(skyline.plan(found.blocks).lower_bound, found.peak)
        self.assertEqual(skyline.plan(found.program_blocks).lower_bound, found.program_peak)

    def test_the_file_has_the_certificate(self):
        found = skyline.order(network(4))
        file = json.loads(found.file)
        self.assertEqual(file["order"], found.order.tolist())
        self.assertTrue(found.proved_by_flow)
        self.assertEqual(file["certificate"]["bytes"], found.lower_bound)

    def test_in_place_ops_take_no_bytes(self):
        tensors = [{"bytes": 100}, {"bytes": 100}]
        ops = [op("make", [], [0]), op("relu", [0], [1], in_place=[[0, 0]])]
        graph = skyline.StepGraph(tensors, ops)
        self.assertEqual(skyline.order(graph).peak, 100)
        self.assertEqual(skyline.order(graph, in_place=False).peak, 200)

    def test_frames_are_graphs_too(self):
        graph = random_graph(2)
        frames = skyline.StepGraph(pd.DataFrame(graph.tensors), pd.DataFrame(graph.ops))
        self.assertEqual(skyline.order(frames).peak, skyline.order(graph).peak)

    def test_a_saved_graph_is_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "graph.json"
            graph = network(3)
            graph.resident_bytes, graph.name = 7, "chain"
            graph.save(path)
            self.assertEqual(skyline.StepGraph.load(path), graph)

    def test_bad_graphs_are_named(self):
        tensors = [{"bytes": 1}]
        for graph, message in (
                (skyline.StepGraph(tensors, [op("relu", [0], [])]), r"op 0 \(relu\)"),
                (skyline.StepGraph(tensors, [op("relu", [5], [])]), r"op 0 \(relu\)"),
                (skyline.StepGraph(tensors, []), "no ops"),
                (skyline.StepGraph([{"bytes": -1}], [op("make", [], [0])]), "op 0.*-1")):
            with self.assertRaisesRegex(ValueError, message):
                skyline.order(graph)
        with self.assertRaisesRegex(ValueError, 'unknown algorithm "best", .* optimal'):
            skyline.order(network(2), "best")


class Budget(unittest.TestCase):
    def test_enough_bytes_cost_nothing(self):
        graph = network(6)
        found = skyline.budget(graph, 10_000, [1] * 12)
        self.assertEqual((found.point.extra_seconds, found.point.recomputed), (0, []))
        self.assertEqual(found.point.peak, skyline.order(graph, "program").peak)

    def test_fewer_bytes_cost_seconds_of_ops_that_run_again(self):
        graph = network(6)
        all_kept = skyline.budget(graph, 10_000, [1] * 12).point.peak
        found = skyline.budget(graph, all_kept - 100, [1] * 12)
        self.assertLessEqual(found.point.peak, all_kept - 100)
        self.assertEqual(found.point.extra_seconds, len(found.point.recomputed))
        self.assertTrue(set(found.point.recomputed) <= set(range(6)))
        self.assertLessEqual(found.point.bound_seconds, found.point.extra_seconds + 1e-9)
        self.assertGreater(found.point.bound_seconds, 0)

    def test_ops_without_inputs_run_again(self):
        # The large value is read at both ends, and made of nothing.
        ops = [op("weight", [], [0], phase="forward"), op("layer", [0], [1], phase="forward"),
               op("loss", [1], [2], phase="backward"),
               op("gradient", [1, 2], [3], phase="backward", workspace=60),
               op("last", [0, 3], [4], phase="backward")]
        graph = skyline.StepGraph([{"bytes": n} for n in (90, 50, 1, 50, 1)], ops)
        kept = skyline.budget(graph, 10_000, [3, 1, 1, 1, 1]).point.peak
        found = skyline.budget(graph, kept - 90, [3, 1, 1, 1, 1]).point
        self.assertEqual((found.recomputed, found.extra_seconds), ([0], 3))
        self.assertAlmostEqual(found.bound_seconds, 3)

    def test_no_bound_exceeds_what_any_step_takes(self):
        for seed in range(60):
            graph, seconds = step_of_two_values(seed)
            for point in skyline.budget(graph, 10_000, seconds).curve:
                least = least_seconds(graph, seconds, point.peak)
                self.assertLessEqual(point.bound_seconds, least + 1e-6, seed)
                self.assertGreaterEqual(point.extra_seconds, least - 1e-6, seed)

    def test_given_rows_say_what_may_be_recomputed(self):
        graph = network(6)
        rows = [(3, [2], 0, 1.0, 1.0), (2, [0], 20, 2.5, 2.5)]  # the second runs two ops
        curve = skyline.budget(graph, 10_000, [1] * 12, recomputes=rows).curve
        self.assertEqual({i for point in curve for i in point.recomputed}, {2, 3})
        self.assertEqual({-1 - i for point in curve for i in point.sequence if i < 0}, {2, 3})
        for point in curve:
            self.assertEqual([i for i in point.sequence if i >= 0], list(range(12)))
            self.assertEqual(point.extra_seconds,
                             sum({3: 1.0, 2: 2.5}[-1 - i] for i in point.sequence if i < 0))
            self.assertLessEqual(point.bound_seconds, point.extra_seconds + 1e-9)
        self.assertEqual(len(skyline.budget(graph, 10_000, [1] * 12, recomputes=[]).curve), 1)
        for row in ((9, [2], 0, 1.0, 1.0), (3, [9], 0, 1.0, 1.0)):
            with self.assertRaisesRegex(ValueError, "recomputes, row 0: expected a tensor of forward"):
                skyline.budget(graph, 1000, [1] * 12, recomputes=[row])

    def test_no_bound_with_rounds_exceeds_what_any_step_takes(self):
        points = in_rounds = 0
        for seed in range(30):
            graph, seconds = step_of_two_values(seed)
            region = random_region(seed, graph, seconds)
            steps = [(graph, seconds)] + [step_in_rounds(graph, seconds, region, count)
                                          for count in region["rounds"]]
            fastest = min(sum(seconds) for _, seconds in steps)
            for point in skyline.budget(graph, 10_000, seconds, regions=[region]).curve:
                least = min(sum(seconds) - fastest + least_seconds(step, seconds, point.peak)
                            for step, seconds in steps)
                self.assertLessEqual(point.bound_seconds, least + 1e-6, seed)
                self.assertGreaterEqual(point.extra_seconds, least - 1e-6, seed)
                points += 1
                in_rounds += point.rounds != [0]
        self.assertTrue(points / 4 < in_rounds < points, (in_rounds, points))

    def test_backward_in_rounds_recomputes_what_lies_inside(self):
        # Layers 1 to 3 and their gradients; a round of 4 has a quarter of each value inside.
        graph = network(6)
        regions = [{"ops": [1, 2, 3], "rounds": {4: (50, 3.0), 8: (25, 3.5)}},
                   {"ops": [8, 9, 10], "rounds": {4: (100, 4.0)}, "inputs": [0, 3, 7]}]
        seconds = [1] * 12
        self.assertEqual(skyline.budget(graph, 500, seconds).point.extra_seconds, 2)
        point = skyline.budget(graph, 500, seconds, regions=regions).point
        self.assertEqual((point.peak, point.rounds), (500, [0, 4]))
        self.assertAlmostEqual(point.extra_seconds, 1)
        self.assertAlmostEqual(point.bound_seconds, 1)
        # Nothing keeps values 1 and 2 for backward.
        self.assertEqual(point.sequence, [0, 1, 2, 3, 4, 5, 6, 7, 10, 11])
        overlapping = [regions[0], {"ops": [1, 2], "rounds": {2: (50, 1.5)}}]
        curve = skyline.budget(graph, 10_000, seconds, regions=overlapping).curve
        self.assertEqual(curve[0].rounds, [0, 2])  # faster than whole
        for point in curve:
            self.assertIn(0, point.rounds)

    def test_bad_regions_are_named(self):
        graph = network(4)
        good = {"ops": [1, 2], "rounds": {2: (0, 2.0)}}
        for change, message in (({"ops": [0, 2]}, "row 0: a path leaves the region and comes back"),
                                ({"ops": [3, 4]}, "row 0: expected ops of forward alone"),
                                ({"ops": []}, "row 0: expected at least one op"),
                                ({"ops": [99]}, "ops: got .99., but the graph has 8"),
                                ({"inputs": [1]}, "row 0: writes its input 1"),
                                ({"inputs": [99]}, "row 0: got value 99"),
                                ({"rounds": {1: (0, 2.0)}}, "rounds: got 1, expected a whole number"),
                                ({"rounds": {k: (0, 2.0) for k in range(2, 99)}}, "more than 64")):
            with self.assertRaisesRegex(ValueError, message):
                skyline.budget(graph, 1000, [1] * 8, regions=[{**good, **change}])

    def test_the_curve_trades_bytes_for_seconds(self):
        curve = skyline.budget(network(8), 10_000, [1] * 16).curve
        self.assertGreater(len(curve), 2)
        for more, less in zip(curve, curve[1:]):
            self.assertGreater(more.peak, less.peak)
            self.assertLess(more.extra_seconds, less.extra_seconds)

    def test_seconds_and_backward_may_be_columns(self):
        graph = network(6)
        for row in graph.ops:
            row["seconds"] = 2.0
        found = skyline.budget(graph, 600)
        self.assertEqual(found.point.extra_seconds, 2 * len(found.point.recomputed))
        self.assertEqual(found, skyline.budget(graph, 600, [2] * 12, backward=6))

    def test_bad_questions_are_named(self):
        graph = network(3)
        for arguments, message in (((graph, 10, [1] * 6), "bytes: got 10, but the least"),
                                   ((graph, 1000), "op 0, seconds: got None"),
                                   ((graph, 1000, [1, -1, 1, 1, 1, 1]), "op 1, seconds: got -1"),
                                   ((graph, 1000, [1]), "got 1 numbers, expected one for each of")):
            with self.assertRaisesRegex(ValueError, message):
                skyline.budget(*arguments)
        with self.assertRaisesRegex(ValueError, "backward: got 7, expected at most 6"):
            skyline.budget(graph, 1000, [1] * 6, backward=7)
        for row in graph.ops:
            del row["phase"]
        with self.assertRaisesRegex(ValueError, "backward="):
            skyline.budget(graph, 1000, [1] * 6)


if __name__ == "__main__":
    unittest.main()
