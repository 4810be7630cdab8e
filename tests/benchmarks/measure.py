#!/usr/bin/env python3
"""Measures Skyline on this machine and writes the tables of README.md in this folder.

    python3 tests/benchmarks/measure.py [PART ...] [--build build/release] [--dry-run]

Without PART all parts run. Each part replaces only its own table, between the markers
<!-- measured PART --> and <!-- end PART -->, and names the machine, commit and command. A part that
lacks its data or PyTorch says so and leaves its table as it is:

    planners       needs $SKYLINE_TRACES, a folder with minimalloc/*.csv and networks/*.csv; times
                   MiniMalloc beside ours if $SKYLINE_MINIMALLOC names its program
                   (github.com/google/minimalloc)
    predicted, cuda-steps, kernels
                   need a build with cuDNN, but no card: h100.json describes one
    images         needs $SKYLINE_IMAGES, an image folder
    wmt            needs $SKYLINE_WMT, a folder with WMT's development sets (see wmt_memory.py)
    pytorch, pytorch-memory, pytorch-budget, ddp
                   need a python3 ($SKYLINE_PYTHON) with torch, torchvision and safetensors
    ranks, ddp     need mpirun

Rows that decide nothing are summed up: a function's docstring says by which rule. --dry-run prints
the commands and what is missing, and measures nothing.
"""

import argparse
import itertools
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON = os.environ.get("SKYLINE_PYTHON", sys.executable)
COMPARED = "network-wise,exact-pool,best-fit-pool,caching,bfc,planned"


class Missing(Exception):
    """A part cannot run here; the text says why."""


class Runner:
    """Runs a part's commands and keeps their lines for the table's caption."""

    def __init__(self, build, dry_run):
        self.build, self.dry_run = build, dry_run
        self.commands = []

    def program(self, name):
        folders = {"skyline": "train", "cuda_emulated_tests": "tests/cuda"}
        path = ROOT / self.build / folders.get(name, "tests/benchmarks") / name
        if not path.exists():
            raise Missing(f"{path} is not built")
        return str(path)

    def output(self, *command, shown=None):
        words = [str(word) for word in command]
        self.commands.append(shown or " ".join([pathlib.Path(words[0]).name] + words[1:]))
        print(f"  {self.commands[-1]}", file=sys.stderr)
        if self.dry_run:
            return ""
        run = subprocess.run(words, stdout=subprocess.PIPE, text=True, cwd=ROOT, check=False)
        if run.returncode:
            raise Missing(f"{self.commands[-1]} failed with exit code {run.returncode}")
        return run.stdout


def folder(variable):
    path = os.environ.get(variable)
    if not path:
        raise Missing(f"${variable} is not set")
    return path


def require_torch():
    if subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Missing(f"{PYTHON} has no torch")


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def as_printed(*outputs):
    """A program's own table, as it printed it."""
    return "```\n" + "\n".join(output.strip("\n") for output in outputs) + "\n```"


def by_first_cell(rows):
    """One row for the rows with one first cell; other cells that differ are joined by commas."""
    found = {}
    for row in rows:
        found.setdefault(row[0], []).append([str(cell) for cell in row])
    return [[cells[0] if len(set(cells)) == 1 else ", ".join(cells) for cells in zip(*same)]
            for same in found.values()]


def shortened(output):
    """A script's table with one row a network, below what else it says."""
    lines = [re.split(r"\s*\|\s*|\s{2,}", line.strip("| ")) for line in output.splitlines()]
    said = [line[0] for line in lines if len(line) < 4 and line[0]]
    header, *rows = [line for line in lines if len(line) >= 4 and line[0] != "---"] or [[]]
    return "; ".join(said) + "\n\n" * bool(said) + markdown(header, by_first_cell(rows))


def timed(name, *flags, data=None):
    """A Google Benchmark; `data` names the variable with the folder that it reads."""
    def measure_program(runner):
        if data:
            folder(data)
        output = runner.output(runner.program(name), "--benchmark_format=json", *flags,
                               shown=" ".join([name, *flags]))
        rows = [[f"`{run['name']}`", f"{run['real_time']:.4g} {run['time_unit']}",
                 f"{run['items_per_second']:.4g}" if "items_per_second" in run else ""]
                for run in json.loads(output or '{"benchmarks": []}')["benchmarks"]]
        return markdown(["benchmark", "time", "items/s"], rows)
    return measure_program


def mebibytes(count):
    return f"{count / 2**20:.3g} MiB" if count < 10 * 2**20 else f"{count / 2**20:.1f} MiB"


def allocators(runner):
    rows = []
    for model in ("resnet20", "lenet"):
        output = runner.output(runner.program("skyline"), "compare", "--json", "--model", model,
                               "--data", "shapes", "--steps", 30, "--threads", 1, "--allocators",
                               COMPARED)
        result = json.loads(output or '{"allocators": {}}')
        for name, run in result["allocators"].items():
            allocation_ns = run["allocate_ns_median"] - result["clock_ns"]
            after_switch = run["peak_reserved_after_switch"]
            rows.append([name, model, mebibytes(run["peak_reserved"]),
                         mebibytes(after_switch) if after_switch else "–",
                         f"{100 * run['gap_to_lower_bound']:.1f} %", f"{allocation_ns:.0f} ns",
                         f"{1e3 * run['step_seconds_median']:.3g} ms"])
    return markdown(["allocator", "model", "reserved peak", "after the switch",
                     "above the least possible", "one allocation", "step"], by_first_cell(rows))


def printed(program, *arguments):
    return lambda runner: as_printed(runner.output(runner.program(program), *arguments))


def planners(runner):
    traces = folder("SKYLINE_TRACES")
    ours = runner.output(runner.program("planner_targets_benchmark"), traces,
                         shown="planner_targets_benchmark TRACES")
    return as_printed(ours, *minimalloc(runner, traces))


def minimalloc(runner, traces):
    """One line with the seconds that MiniMalloc takes for the same instances, if it is here."""
    program = os.environ.get("SKYLINE_MINIMALLOC")
    if not program:
        return []
    instances = sorted(pathlib.Path(traces, "minimalloc").glob("[A-Z].*.csv"))
    seconds = []
    for instance in instances:
        start = time.perf_counter()
        runner.output(program, f"--capacity={instance.name.split('.')[1]}", f"--input={instance}",
                      "--output=/dev/null",
                      shown="minimalloc --capacity=CAPACITY --input=FILE --output=/dev/null")
        seconds.append(time.perf_counter() - start)
    runner.commands[-len(instances):] = runner.commands[-1:]  # one command stands for all
    return [f"MiniMalloc, {len(seconds)} instances: {sum(seconds):.1f} s"]


def predicted(runner):
    """Reserved MiB of a step on the card of h100.json, which is only described."""
    skyline, card = runner.program("skyline"), "tests/benchmarks/h100.json"
    columns = ["planned", "best-fit-pool", "caching", "bfc", "exact-pool", "network-wise"]

    def peaks(model, *flags):
        text = runner.output(skyline, "dry-run", "--model", model, "--batch-size", 64, "--device",
                             "cuda", "--no-prefetch", "--engines", card, "--json", *flags)
        allocators = json.loads(text)["allocators"] if text else {}
        return {name: f"{row['peak_reserved'] / 2**20:,.0f}" for name, row in allocators.items()}

    rows = []
    for model in ("alexnet", "googlenet", "resnet50", "inception-resnet"):
        plain = peaks(model)
        less = peaks(model, "--recompute", 4, "--fused-update", "--allocators", "planned")
        row = [plain.get(name, "") for name in columns]
        rows.append([model, row[0], less.get("planned", ""), *row[1:]])
    header = ["MiB at batch 64", "planned", "with `--recompute 4 --fused-update`", "best-fit pool",
              "caching (PyTorch)", "bfc (TensorFlow)", "exact-size pool", "network-wise"]
    runner.commands = ["skyline dry-run --model M --batch-size 64 --device cuda --no-prefetch "
                       f"--engines {card} "
                       "[--recompute 4 --fused-update] --json"]
    return markdown(header, rows)


# MiB of that card by the engines' rule of 53b0c8b6: the largest workspace and the planned step, in
# fp32 and in TF32, with 32, 64 and 128 images.
BEFORE = {
    "alexnet": [(9.0, 842, 9.0, 842), (18.0, 968, 18.0, 968), (31.5, 1216, 31.5, 1216)],
    "googlenet": [(12.2, 655, 12.2, 655), (24.5, 1157, 24.5, 1157), (30.6, 2161, 30.6, 2161)],
    "resnet50": [(36.8, 2671, 24.5, 2671), (49.0, 5031, 32.0, 5031), (98.0, 9753, 32.0, 9753)],
    "inception-resnet": [(65.6, 5250, 28.4, 5250), (127.0, 9836, 28.4, 9836),
                         (249.8, 19028, 30.0, 19028)],
    "vgg16": [(24.5, 2805, 24.5, 2797), (30.6, 4019, 30.6, 4009), (24.5, 6443, 24.5, 6435)]}


def bytes_fused(graph):
    """The bytes that a step would move more if what batch normalization adds, masks, sums and
    normalizes in its passes were ops of their own: 17 passes of a block instead of 12, and 25
    instead of 16 behind a projection."""
    sizes = [tensor["bytes"] for tensor in graph["tensors"]]
    images = [[sizes[value] for value in op["inputs"]] for op in graph["ops"]
              if op["name"] == "batch_norm_grad_of_sum"]
    return sum((9 if of_op.count(of_op[0]) > 4 else 5) * of_op[0] for of_op in images)


def cuda_steps(runner):
    """What a step moves, its largest workspace and its reserved MiB on that card, before and now."""
    skyline, card = runner.program("skyline"), "tests/benchmarks/h100.json"

    def step(model, batch_size, *flags):
        with tempfile.TemporaryDirectory() as directory:
            graph = pathlib.Path(directory, "step.json")
            text = runner.output(skyline, "dry-run", "--model", model, "--batch-size", batch_size,
                                 "--device", "cuda", "--no-prefetch", "--engines", card,
                                 "--allocators", "planned", "--write-graph", graph, "--json", *flags,
                                 shown=f"{model}, {batch_size}")
            if not text:
                return 0, 0, 0, 0
            answer = json.loads(text)
            moved, fused = answer["moved_bytes"], bytes_fused(json.loads(graph.read_text()))
        return (answer["categories"].get("workspace", {"peak_bytes": 0})["peak_bytes"] / 2**20,
                answer["allocators"]["planned"]["peak_reserved"] / 2**20,
                (moved + fused) / 1e9, moved / 1e9)

    def row(model, batch_size, before):
        fp32, tf32 = step(model, batch_size), step(model, batch_size, "--tf32")
        none = step(model, batch_size, "--workspace", 0)
        figures = zip(before, (*fp32[:2], *tf32[:2]), ("{:,.1f}", "{:,.0f}") * 2)
        return [model, batch_size, f"{fp32[2]:.1f} → {fp32[3]:.1f}",
                *(f"{digits.format(old)} → {digits.format(now)}" for old, now, digits in figures),
                f"{none[1]:,.0f}"]

    rows = [row(model, batch_size, before) for model, befores in BEFORE.items()
            for batch_size, before in zip((32, 64, 128), befores)]
    runner.commands = ["skyline dry-run --model M --batch-size B --device cuda --no-prefetch "
                       f"--engines {card} "
                       "--allocators planned [--tf32] [--workspace 0] --write-graph G --json"]
    return markdown(["network", "batch", "GB moved", "largest workspace, fp32, MiB", "planned",
                     "largest workspace, TF32", "planned", "without workspaces"],
                    by_first_cell(rows))


def kernels(runner):
    """What the compiler made of passes over images and of an LSTM's cells, for one float at a time
    and for four; in a sentence, of all kernels."""
    test = "CompiledKernelsTest.NeedNoMoreThanACardHas"
    with tempfile.TemporaryDirectory() as directory:
        answer = pathlib.Path(directory, "answer.json")
        runner.output(runner.program("cuda_emulated_tests"), f"--gtest_filter={test}",
                      f"--gtest_output=json:{answer}",
                      shown=f"cuda_emulated_tests --gtest_filter={test} --gtest_output=json:FILE")
        if runner.dry_run:
            return ""
        lines = json.loads(answer.read_text())["testsuites"][0]["testsuite"][0]["kernels"]
    names, *figures = zip(*(line.split() for line in lines.splitlines()))
    plain = subprocess.run(["c++filt"], input="\n".join(names), stdout=subprocess.PIPE, text=True,
                           check=True).stdout.splitlines()
    plain = [re.sub(r"^void |skyline::|\(anonymous namespace\)::|(?<=>)\(.*", "", name)
             .replace("(Added)", "") for name in plain]
    changed = "channel_sums|finish_sums|for_each_element|column_sums|for_each_kernel<(For|Back)ward"
    rows = [[f"`{re.sub(r'(?<=kernel<)[14](, )?|(?<=Body<)[14]| (?=>)', '', name)}`", *row]
            for name, *row in sorted(zip(plain, *figures)) if re.match(changed, name)]
    registers, spilled = (max(map(int, column)) for column in figures[:2])
    return (f"{len(names)} kernels of at most {registers} registers a thread, {spilled} bytes spilled"
            "\n\n" + markdown(["kernel", "registers", "spilled", "loads in flight"],
                             by_first_cell(rows)))


def wmt(runner):
    texts = folder("SKYLINE_WMT")
    script = "tests/benchmarks/pytorch/wmt_memory.py"
    return as_printed(runner.output(sys.executable, script, runner.program("skyline"), texts,
                                    shown=f"python3 {script} skyline FOLDER"))


NETWORKS = ["mlp", "lenet", "resnet20", "resnet18", "mobilenet_v2", "alexnet", "googlenet",
            "resnet50", "inception-resnet", "inception-resnet-figure", "vgg16", "seq2seq"]


WAYS = {"order alone": [], "--fused-update": ["--fused-update"],
        "--recompute 4": ["--recompute", 4]}


def decisive_orders(steps):
    """The steps of which the order saves 5 %, and a row a way on the others; none below 10 MiB. A
    step: network, batch, way, MiB of program, early, Inductor, XLA and optimal, whether proved."""
    rows, sums = [], []
    for way in WAYS:
        these = [(1 - step[7] / step[3], *step)
                 for step in steps if step[2] == way and step[3] >= 10]
        others = [step for step in these if step[0] < 0.05]
        rows += [[*step[1:4], *(f"{peak:.1f}" for peak in step[4:9]), f"{100 * step[0]:.1f} %",
                  "yes" if step[9] else "no"] for step in these if step not in others]
        most = max(others)
        farthest = {peer: max(these, key=lambda step: step[peer] / step[8]) for peer in (6, 7)}
        sums.append([way, len(others), f"{100 * most[0]:.1f} % ({most[1]}, {most[2]})",
                     sum(not step[9] for step in others),
                     *(f"{step[peer]:.1f} to {step[8]:.1f} ({step[1]}, {step[2]})"
                       for peer, step in farthest.items())])
    return markdown(["network", "batch", "way", "program", "early", "Inductor", "XLA", "optimal",
                     "saves", "proved"], by_first_cell(rows)) + "\n\n" + markdown(
        ["way", "other steps", "they save at most", "not proved", "farthest from optimal: Inductor",
         "XLA"], sums)


def orders(runner):
    """Peaks of a step in several orders, in MiB without resident bytes."""
    skyline, steps = runner.program("skyline"), []
    for network, batch_size, way in itertools.product(NETWORKS, (1, 32, 128), WAYS):
        texts = [runner.output(skyline, "dry-run", "--model", network, "--batch-size", batch_size,
                               *WAYS[way], "--order", order, "--allocators", "planned", "--json")
                 for order in ("program", "early", "inductor", "xla", "optimal")]
        if all(texts):
            found = [json.loads(text)["order"] for text in texts]
            steps.append((network, batch_size, way, *(order["peak"] / 2**20 for order in found),
                          found[-1]["proved_optimal"]))
    runner.commands = ["skyline dry-run --model M --batch-size B [--order inductor | xla | early]"]
    return decisive_orders(steps) if steps else ""


def scripted(name, *flags, shape=str.strip, needs="python3"):
    def measure_script(runner):
        if shutil.which(needs) is None:
            raise Missing(f"{needs} is not installed")
        script = f"tests/benchmarks/{name}"
        return shape(runner.output(sys.executable, script, "--build", runner.build, *flags,
                                   shown=" ".join(["python3", script, *flags])))
    return measure_script


def lanes(runner):
    """Bytes and foreseen seconds of plans for steps whose ops run at once."""
    rows = []
    for network in NETWORKS:
        for count in (2, 4):
            text = runner.output(runner.program("skyline"), "dry-run", "--model", network,
                                 "--batch-size", 32, "--lanes", count, "--allocators", "planned",
                                 "--json")
            if not text:
                continue
            answer = json.loads(text)["lanes"]
            one, given, colours, _, any_order = answer["plans"]  # the fourth colours softly

            def cell(plan):
                proved = "" if plan["proved_optimal"] else " *"
                return f"+{100 * plan['above_one_lane']:.1f} %{proved}"

            rows.append([network, count, mebibytes(one["peak"]), cell(given), cell(colours),
                         cell(any_order), f"{answer['most_at_once']} of {answer['ops']}",
                         *(f"{answer['sum_seconds'] / seconds:.2f}"
                           for seconds in (one["seconds"], given["seconds"],
                                           answer["critical_path_seconds"]))])
    runner.commands = ["skyline dry-run --model M --batch-size 32 --lanes N"]
    header = ["network", "lanes", "one lane", "these lanes", "path colours", "any order",
              "ops at once", "faster with one lane's plan", "with these lanes'", "at most"]
    return markdown(header, by_first_cell(rows))


def olla(runner):
    """The steps of which the order saves 1 %; a line of the program names the others."""
    text = runner.output(runner.program("skyline"), "reproduce", "olla")
    text = text.partition("\n\n")[2].partition("\nwhy no order needs less")[0]
    others = text.partition("order gains less than 1 %: ")[2].split("\n")[0].split(", ")
    return as_printed("\n".join(line for line in text.splitlines()
                                if not line or line.split()[0] not in others))


def pytorch(script, program, *flags, shape=as_printed):
    def measure_script(runner):
        require_torch()
        path = f"tests/benchmarks/pytorch/{script}"
        words = [path, "--ours", program, *flags]
        return shape(runner.output(PYTHON, path, "--ours", runner.program(program), *flags,
                                   shown=" ".join(["python3", *words])))
    return measure_script


PARTS = {
    "allocators": allocators,
    "networks": printed("cnn_step_benchmark"),
    "bare": printed("bare_step_benchmark", "alexnet", "googlenet", "resnet50", "inception-resnet"),
    "pytorch": pytorch("pytorch_step.py", "cnn_step_benchmark"),
    "pytorch-memory": pytorch("pytorch_memory.py", "skyline", "--batches", "32,64,128", "--device",
                              "cuda", "--engines", "tests/benchmarks/h100.json", shape=shortened),
    "predicted": predicted,
    "cuda-steps": cuda_steps,
    "kernels": kernels,
    "ranks": scripted("ranks.py", shape=shortened, needs="mpirun"),
    "ddp": pytorch("ranks_against_ddp.py", "skyline", shape=shortened),
    "dry-runs": printed("dry_run_benchmark"),
    "orders": orders,
    "lanes": lanes,
    "olla": olla,
    "pgmo": printed("skyline", "reproduce", "pgmo"),
    "resident-set": scripted("resident_set.py"),
    "budgets": scripted("budget.py"),
    "budget-runs": scripted("budget.py", "--run"),
    "pytorch-budget": pytorch("pytorch_budget.py", "skyline", shape=shortened),
    "sessions": timed("session_benchmark", "--benchmark_filter=planned"),
    "planners": planners,
    "planner-scale": printed("planner_scale_benchmark"),
    "validator": timed("planners_benchmark", "--benchmark_filter=validate"),
    "replay": timed("replay_benchmark"),
    "images": timed("data_benchmark", "--benchmark_filter=image", data="SKYLINE_IMAGES"),
    "text": timed("text_benchmark"),
    "wmt": wmt,
}


def machine():
    cpuinfo = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    memory = pathlib.Path("/proc/meminfo").read_text(encoding="utf-8")
    model = re.search(r"model name\s*: (.*)", cpuinfo)
    gibibytes = int(re.search(r"MemTotal:\s*(\d+)", memory).group(1)) / 2**20
    return (f"{model.group(1) if model else 'unknown CPU'}, {os.cpu_count()} cores, "
            f"{gibibytes:.0f} GiB")


def commit():
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=ROOT, stdout=subprocess.PIPE, text=True,
                              check=False).stdout.strip()
    changed = git("status", "--porcelain", "--untracked-files=no", "--",
                  ":!tests/benchmarks/README.md")
    return (git("rev-parse", "--short", "HEAD") or "unknown") + (" with changes" if changed else "")


def write_table(part, text):
    readme = HERE / "README.md"
    pattern = re.compile(f"(<!-- measured {part} -->\n).*?(<!-- end {part} -->)", re.DOTALL)
    old = readme.read_text(encoding="utf-8")
    if not pattern.search(old):
        sys.exit(f"{readme} has no markers for '{part}'")
    readme.write_text(pattern.sub(lambda found: f"{found[1]}{text}\n{found[2]}", old),
                      encoding="utf-8")


def measure(part, options):
    """Returns True if the part's table was measured (or could be, in a dry run)."""
    print(part, file=sys.stderr)
    runner = Runner(options.build, options.dry_run)
    try:
        table = PARTS[part](runner)
    except Missing as reason:
        print(f"  left as it is: {reason}", file=sys.stderr)
        return False
    if not options.dry_run:
        commands = "; ".join(f"`{command}`" for command in runner.commands)
        caption = f"{machine()}; commit {commit()}; {time.strftime('%Y-%m-%d')}; {commands}"
        write_table(part, f"{caption}\n\n{table}")
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--build", default="build/release", help="folder of the build")
    parser.add_argument("--dry-run", action="store_true", help="print the commands only")
    options = parser.parse_args()
    for part in options.parts:
        if part not in PARTS:
            parser.error(f"unknown part '{part}', expected one of {', '.join(PARTS)}")
    results = [measure(part, options) for part in options.parts or PARTS]
    return 0 if any(results) else 1


if __name__ == "__main__":
    sys.exit(main())
