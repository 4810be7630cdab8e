"""Compares the memory that allocators reserve for translation steps over WMT's development sets.

This is the paper's setting at a size that suits a CPU. Every batch has another shape. One `skyline
compare` runs the same batches under every allocator and every policy and checks that losses are
equal bit for bit. FOLDER holds NAME.en and NAME.fr for news-test2008, newssyscomb2009 and
newstest2009 to newstest2012. The defaults take 5 to 20 minutes on two cores.

    python3 wmt_memory.py build/release/train/skyline FOLDER
        [--steps 200] [--units 256] [--batch 64] [--vocabulary 10000] [--layers 2] [--threads 2]
        [--limit 1GiB] [--allocators NAME,…] [--report PAGE.html]
"""

import argparse
import json
import pathlib
import subprocess
import sys

TEXTS = ["news-test2008", "newssyscomb2009"] + [f"newstest{year}" for year in range(2009, 2013)]
UPPER_BOUND = "planned-upper-bound"


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    for flag, default in [("steps", 200), ("units", 256), ("batch", 64), ("vocabulary", 10000),
                          ("layers", 2), ("threads", 2)]:
        parser.add_argument(f"--{flag}", type=int, default=default)
    parser.add_argument("--limit", default="1GiB", help="capacity of the exact pool's second run")
    parser.add_argument("--allocators", help="allocators to compare (default: all)")
    parser.add_argument("--report", type=pathlib.Path, help="write compare's page to this file")
    return parser.parse_args()


def compared(options):
    def files(language):
        return ",".join(str(options.folder / f"{text}.{language}") for text in TEXTS)

    allocators = options.allocators or (
        f"network-wise,exact-pool,exact-pool@{options.limit},best-fit-pool,caching,bfc,"
        f"planned-grow,planned-per-shape,{UPPER_BOUND}")
    command = [
        options.program, "compare", "--json", "--model", "seq2seq", "--source", files("en"),
        "--target", files("fr"), "--layers", options.layers, "--units", options.units,
        "--vocab-size", options.vocabulary, "--batch-size", options.batch, "--threads",
        options.threads, "--steps", options.steps, "--allocators", allocators,
    ]
    if options.report:
        command += ["--report", options.report]
    print(" ".join(map(str, command)), file=sys.stderr)
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=False)
    if not run.stdout:
        sys.exit(run.returncode)
    return json.loads(run.stdout)


def mebibytes(count):
    return f"{count / 2**20:.1f}"


def steady_peak(training):
    """The reserved peak after the switch, or of the whole run if there is no switch."""
    return training["peak_reserved_after_switch"] or training["peak_reserved"]


def row(name, training):
    if not training["fits"]:
        return [name, f"does not fit: {training['problem']}"]
    sessions = [training.get(key, "–") for key in ("replans", "deviations")]
    return [
        name, mebibytes(training["peak_reserved"]), mebibytes(steady_peak(training)),
        training["device_allocations_after_switch"], training["flushes"],
        f"{1e3 * training['step_seconds_median']:.1f}", *sessions
    ]


def print_table(rows):
    whole = [cells for cells in rows if len(cells) == len(rows[0])]
    widths = [max(len(str(cell)) for cell in column) for column in zip(*whole)]
    for name, *cells in rows:
        print(f"{name:<{widths[0]}}  " +
              "  ".join(f"{str(cell):>{width}}" for cell, width in zip(cells, widths[1:])))


def main():
    options = arguments()
    result = compared(options)
    print_table([[
        "allocator", "reserved MiB", "after the switch", "device allocations", "flushes", "step ms", "re-plans",
        "deviations"
    ]] + [row(name, training) for name, training in result["allocators"].items()])
    print("peaks with resident memory; device allocations after the first step; median step times")
    equal = "equal bit for bit" if result["bit_equal"] else "NOT EQUAL"
    print(f"losses and parameters after {options.steps} steps: {equal}")
    upper_bound = result["allocators"].get(UPPER_BOUND)
    if upper_bound and upper_bound["fits"]:
        least = upper_bound["resident_bytes"] + result["longest_batch"]["live_bytes"]
        ratio = steady_peak(upper_bound) / least
        print(f"{UPPER_BOUND} reserves {ratio:.4f} times the longest batch's peak of live bytes, "
              f"{mebibytes(least)} MiB with resident memory")
    sys.exit(0 if result["bit_equal"] else 1)


main()
