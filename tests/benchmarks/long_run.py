"""Shows that memory and report do not grow with the steps of a run.

    python3 tests/benchmarks/long_run.py build/release/train/skyline [STEPS]

Trains lenet on one drawn image a step (a million steps take 6 to 25 minutes), samples the resident
set of the process, resumes the run for 100 steps and prints a table. Exits with 1 if the resident
set grew by more than 10 MB after the first 1 % of the steps.
"""

import pathlib
import subprocess
import sys
import tempfile
import time

MOST_GROWTH_MB = 10
SECONDS = 0.1  # between samples


def resident_mb(process):
    """The resident set in MB; None if the process has ended."""
    try:
        status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    except OSError:
        return None
    sizes = [line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")]
    return int(sizes[0]) * 1024 / 1e6 if sizes else None


def watched(command, log):
    """Runs a command; returns pairs of its log's size and its resident set."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    samples = []
    while process.poll() is None:
        resident = resident_mb(process)
        if resident and log.exists():
            samples.append((log.stat().st_size, resident))
        time.sleep(SECONDS)
    if process.returncode != 0:
        sys.exit(f"{command} failed with {process.returncode}")
    return samples


def main():
    binary, steps = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        run = pathlib.Path(folder) / "run"
        log = run / "log.jsonl"
        samples = watched(
            [binary, "train", "--model", "lenet", "--data", "shapes", "--images", "40000",
             "--batch-size", "1", "--learning-rate", "0.0005", "--schedule", "constant",
             "--threads", "1", "--steps", str(steps), "--output", str(run)], log)
        log_bytes = log.stat().st_size
        begun = [resident for size, resident in samples if size >= log_bytes / 100]
        report_kb = (run / "report.html").stat().st_size / 1e3
        resumed = watched(
            [binary, "train", "--resume", str(run), "--steps", str(steps + 100)], log)
    print("| steps | resident after 1 % | at the end | at most | report | log | resumed, at most |")
    print("|---|---|---|---|---|---|---|")
    print(f"| {steps:,} | {begun[0]:.1f} MB | {begun[-1]:.1f} MB | {max(begun):.1f} MB | "
          f"{report_kb:.0f} kB | {log_bytes / 1e6:.0f} MB | "
          f"{max(resident for _, resident in resumed):.1f} MB |")
    if max(begun) > begun[0] + MOST_GROWTH_MB:
        sys.exit(f"the resident set grew by more than {MOST_GROWTH_MB} MB")


main()
