#!/usr/bin/env python3
"""Measures Skyline on this machine and writes the tables of README.md in this folder.

    python3 tests/benchmarks/measure.py [PART ...] [--build build/release] [--dry-run]

Without PART all parts run. Each part replaces only its own table, between the markers
<!-- measured PART --> and <!-- end PART -->, and names the machine, commit and command. A part that
lacks its data or PyTorch says so and leaves its table as it is:

    planners       needs $SKYLINE_TRACES, a folder with minimalloc/*.csv and networks/*.csv; times
                   MiniMalloc beside ours if $SKYLINE_MINIMALLOC names its program
                   (github.com/google/minimalloc)
    predicted      needs a build with cuDNN, but no card: h200.json describes one
    workspaces     needs the same
    images         needs $SKYLINE_IMAGES, an image folder
    wmt            needs $SKYLINE_WMT, a folder with WMT's development sets (see wmt_memory.py)
    pytorch        needs a python3 with torch, torchvision and safetensors ($SKYLINE_PYTHON names
                   another one)
    pytorch-memory, pytorch-budget
                   need the same
    ranks          needs mpirun
    ddp            needs mpirun and the python3 of part pytorch

--dry-run prints the commands and what is missing, and measures nothing.
"""

import argparse
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
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
        folder = "train" if name == "skyline" else "tests/benchmarks"
        path = ROOT / self.build / folder / name
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
    if PYTHON == sys.executable:
        found = importlib.util.find_spec("torch") is not None
    else:
        found = subprocess.run([PYTHON, "-c", "import torch"], stderr=subprocess.DEVNULL,
                               check=False).returncode == 0
    if not found:
        raise Missing(f"{PYTHON} has no torch")


def markdown(header, rows):
    lines = [header, ["---"] * len(header)] + rows
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def as_printed(*outputs):
    """A program's own table, as it printed it."""
    return "```\n" + "\n".join(output.strip("\n") for output in outputs) + "\n```"


def google_benchmark(runner, name, *flags):
    output = runner.output(runner.program(name), "--benchmark_format=json", *flags,
                           shown=" ".join([name, *flags]))
    rows = [[f"`{run['name']}`", f"{run['real_time']:.4g} {run['time_unit']}",
             f"{run['items_per_second']:.4g}" if "items_per_second" in run else ""]
            for run in json.loads(output or '{"benchmarks": []}')["benchmarks"]]
    return markdown(["benchmark", "time", "items/s"], rows)


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
            rows.append([model, name, mebibytes(run["peak_reserved"]),
                         mebibytes(after_switch) if after_switch else "–",
                         f"{100 * run['gap_to_lower_bound']:.1f} %", f"{allocation_ns:.0f} ns",
                         f"{1e3 * run['step_seconds_median']:.3g} ms"])
    return markdown(["model", "allocator", "reserved peak", "after the switch", "above the least possible",
                     "one allocation", "step"], rows)


def printed(program, *arguments):
    return lambda runner: as_printed(runner.output(runner.program(program), *arguments))


def timed(name, *flags):
    return lambda runner: google_benchmark(runner, name, *flags)


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
    """Reserved MiB of a step on the card of h200.json, which is only described."""
    skyline, card = runner.program("skyline"), "tests/benchmarks/h200.json"
    columns = ["planned", "best-fit-pool", "caching", "bfc", "exact-pool", "network-wise"]
    peer = {}
    try:
        require_torch()
        script = "tests/benchmarks/pytorch/pytorch_memory.py"
        output = runner.output(PYTHON, script, "--ours", skyline, "--batches", 64, "--with=",
                               shown=f"python3 {script} --ours skyline --batches 64")
        peer = {row.split()[0]: row.split()[2] for row in output.splitlines()[3:]}
    except Missing as reason:
        print(f"  without PyTorch's column: {reason}", file=sys.stderr)

    def peaks(model, *flags):
        text = runner.output(skyline, "dry-run", "--model", model, "--batch-size", 64, "--device",
                             "cuda", "--engines", card, "--json", *flags)
        allocators = json.loads(text)["allocators"] if text else {}
        return {name: f"{row['peak_reserved'] / 2**20:,.0f}" for name, row in allocators.items()}

    rows = []
    for model in ("alexnet", "googlenet", "resnet50", "inception-resnet"):
        plain = peaks(model)
        less = peaks(model, "--recompute", 4, "--fused-update", "--allocators", "planned")
        row = [plain.get(name, "") for name in columns]
        rows.append([model, row[0], less.get("planned", ""), *row[1:], peer.get(model, "–")])
    header = ["MiB at batch 64", "planned", "with `--recompute 4 --fused-update`", "best-fit pool",
              "caching (PyTorch)", "bfc (TensorFlow)", "exact-size pool", "network-wise",
              "PyTorch's own step, alive"]
    runner.commands = [f"skyline dry-run --model M --batch-size 64 --device cuda --engines {card} "
                       "[--recompute 4 --fused-update] --json"]
    return markdown(header, rows)


def workspaces(runner):
    """The largest workspace and the reserved MiB of a step on that card, and without workspaces."""
    skyline, card = runner.program("skyline"), "tests/benchmarks/h200.json"

    def step(model, batch_size, *flags):
        text = runner.output(skyline, "dry-run", "--model", model, "--batch-size", batch_size,
                             "--device", "cuda", "--engines", card, "--allocators", "planned",
                             "--json", *flags)
        answer = json.loads(text or '{"categories": {}, "allocators": {}}')
        largest = answer["categories"].get("workspace", {"peak_bytes": 0})["peak_bytes"]
        planned = answer["allocators"].get("planned", {"peak_reserved": 0})["peak_reserved"]
        return f"{largest / 2**20:,.1f}", f"{planned / 2**20:,.0f}"

    rows = []
    for model in ("alexnet", "googlenet", "resnet50", "inception-resnet", "vgg16"):
        for batch_size in (32, 64, 128):
            rows.append([model, batch_size, *step(model, batch_size),
                         *step(model, batch_size, "--tf32"),
                         step(model, batch_size, "--workspace", 0)[1]])
    runner.commands = [f"skyline dry-run --model M --batch-size B --device cuda --engines {card} "
                       "--allocators planned [--tf32] [--workspace 0] --json"]
    return markdown(["network", "batch", "largest workspace, fp32", "planned", "largest, TF32",
                     "planned", "planned without workspaces"], rows)


def images(runner):
    folder("SKYLINE_IMAGES")
    return google_benchmark(runner, "data_benchmark", "--benchmark_filter=image")


def wmt(runner):
    texts = folder("SKYLINE_WMT")
    script = "tests/benchmarks/pytorch/wmt_memory.py"
    return as_printed(runner.output(sys.executable, script, runner.program("skyline"), texts,
                                    shown=f"python3 {script} skyline FOLDER"))


NETWORKS = ["mlp", "lenet", "resnet20", "resnet18", "mobilenet_v2", "alexnet", "googlenet",
            "resnet50", "inception-resnet", "inception-resnet-figure", "vgg16", "seq2seq"]


def orders(runner):
    """Peaks of a step in several orders, in MiB without resident bytes."""
    ways = {"order alone": [], "--fused-update": ["--fused-update"],
            "--recompute 4": ["--recompute", "4"], "inference": ["--infer"]}
    skyline = runner.program("skyline")

    def order_of(*flags):
        text = runner.output(skyline, "dry-run", *flags, "--allocators", "planned", "--json")
        return json.loads(text)["order"] if text else None

    def mib(count):
        return f"{count / 2**20:.1f}"

    rows = []
    for network in NETWORKS:
        for batch_size in (1, 32, 128):
            for way, flags in ways.items():
                flags = ["--model", network, "--batch-size", batch_size, *flags]
                executed = order_of(*flags)
                if not executed:
                    continue
                peers = [mib(order_of(*flags, "--order", peer)["peak"])
                         for peer in ("early", "inductor", "xla")]
                peak, proved = executed["peak"], executed["proved_optimal"]
                if way == "inference":  # nothing is reordered: what a free forward order would save
                    peers = ["", "", ""]
                    peak, proved = executed["free"], executed["free_proved_optimal"]
                saved = 100 * (1 - peak / executed["program"])
                rows.append([network, str(batch_size), way, mib(executed["program"]), *peers,
                             mib(peak), f"{saved:.1f} %", "yes" if proved else "no"])
    # One command stands for all.
    runner.commands = ["skyline dry-run --model M --batch-size B [--order inductor | xla | early]"]
    header = ["network", "batch", "way", "program", "early", "Inductor", "XLA", "optimal", "saves",
              "proved"]
    return markdown(header, rows)


def scripted(name, *flags):
    def measure_script(runner):
        script = f"tests/benchmarks/{name}"
        return runner.output(sys.executable, script, "--build", runner.build, *flags,
                             shown=" ".join(["python3", script, *flags])).strip()
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
            one, given, colours, any_order = answer["plans"]

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
    return markdown(header, rows)


def require_mpirun():
    if shutil.which("mpirun") is None:
        raise Missing("mpirun is not installed")


def ranks(runner):
    """What sums over two ranks take, and bytes foreseen beside reserved ones."""
    require_mpirun()
    return scripted("ranks.py")(runner)


def against_ddp(runner):
    require_mpirun()
    require_torch()
    script = "tests/benchmarks/pytorch/ranks_against_ddp.py"
    return runner.output(PYTHON, script, "--ours", runner.program("skyline"),
                         shown=f"python3 {script} --ours build/release/train/skyline").strip()


def pytorch(script, program, *flags):
    def measure_script(runner):
        require_torch()
        path = f"tests/benchmarks/pytorch/{script}"
        words = [path, "--ours", program, *flags]
        return as_printed(runner.output(PYTHON, path, "--ours", runner.program(program), *flags,
                                        shown=" ".join(["python3", *words])))
    return measure_script


PARTS = {
    "allocators": allocators,
    "networks": printed("cnn_step_benchmark"),
    "bare": printed("bare_step_benchmark", "alexnet", "googlenet", "resnet50", "inception-resnet"),
    "pytorch": pytorch("pytorch_step.py", "cnn_step_benchmark"),
    "pytorch-memory": pytorch("pytorch_memory.py", "skyline", "--batches", "32,64,128", "--device",
                              "cuda", "--engines", "tests/benchmarks/h200.json"),
    "predicted": predicted,
    "workspaces": workspaces,
    "ranks": ranks,
    "ddp": against_ddp,
    "dry-runs": printed("dry_run_benchmark"),
    "orders": orders,
    "lanes": lanes,
    "olla": printed("skyline", "reproduce", "olla"),
    "pgmo": printed("skyline", "reproduce", "pgmo"),
    "resident-set": scripted("resident_set.py"),
    "budgets": scripted("budget.py"),
    "budget-runs": scripted("budget.py", "--run"),
    "pytorch-budget": pytorch("pytorch_budget.py", "skyline"),
    "sessions": timed("session_benchmark", "--benchmark_filter=planned"),
    "requests": timed("allocators_benchmark", "--benchmark_filter=resnet20"),
    "planners": planners,
    "planner-scale": printed("planner_scale_benchmark"),
    "validator": timed("planners_benchmark", "--benchmark_filter=validate"),
    "replay": timed("replay_benchmark"),
    "images": images,
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
