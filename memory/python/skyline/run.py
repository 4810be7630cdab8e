"""Runs a program whose large blocks of memory come from a plan: skyline run -- python train.py

`skyline help run` of the whole program describes the same options; this command needs the wheel alone.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from . import _memory

FOLDERS = (Path(__file__).parent, Path(__file__).parents[2] / "interpose")  # wheel, build folder
FILES = ("record", "plan", "write_trace")


def parsed(words):
    parser = argparse.ArgumentParser(prog="skyline run", description=__doc__.split("\n")[0],
                                     usage="%(prog)s [options] -- COMMAND")
    parser.add_argument("--threshold", type=int, default=64 << 10, metavar="BYTES",
                        help="smaller requests are left to the C library")
    parser.add_argument("--allocator", choices=[*_memory.allocators, "planned"], default="planned")
    parser.add_argument("--before", type=int, default=0, metavar="STEPS",
                        help="that the C library serves first, to compare")
    parser.add_argument("--no-period", dest="period", action="store_const", const=0, default=1,
                        help="only steps that are marked count")
    parser.add_argument("--children", action="store_const", const=1, default=0,
                        help="serve programs that the command starts, too")
    files = parser.add_mutually_exclusive_group()
    files.add_argument("--record", metavar="FILE", help="plan nothing; write all large requests")
    files.add_argument("--plan", metavar="FILE", help="serve by an earlier run's trace from step 1 on")
    parser.add_argument("--write-trace", metavar="FILE", help="write the planned step, for --plan")
    parser.add_argument("--json", action="store_true", help="print one object of JSON")
    end = [*words, "--"].index("--")
    options = vars(parser.parse_args(words[:end]))
    if not words[end + 1:]:
        parser.error("no command after --")
    if options["plan"] and not Path(options["plan"]).exists():
        parser.error(f"--plan: no file {options['plan']!r}")
    return options, words[end + 1:]


def put_first(variable, path):
    return os.pathsep.join([str(path), *filter(None, [os.environ.get(variable)])])


def run(options, command):
    """Returns the exit code of the command, the report as JSON and as text."""
    folder = next((one for one in FOLDERS if (one / "libskyline_run.so").exists()), None)
    if folder is None:
        raise SystemExit("skyline run: this package was built without libskyline_run.so")
    with tempfile.NamedTemporaryFile("r", prefix="skyline_run_") as report:
        settings = {**options, "report": report.name}
        settings.update((name, os.path.abspath(options[name]) if options[name] else "")
                        for name in FILES)
        environment = {**os.environ, "LD_PRELOAD": put_first("LD_PRELOAD", folder / "libskyline_run.so"),
                       "PYTHONPATH": put_first("PYTHONPATH", folder / "skyline_run_hooks"),
                       "SKYLINE_RUN": "".join(f"{k}={v}\n" for k, v in settings.items())}
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the command's to answer
        try:
            code = subprocess.run(command, env=environment, preexec_fn=answer_interrupts).returncode
        except OSError as error:
            raise SystemExit(f"skyline run: cannot run {command[0]}: {error.strerror}") from error
        finally:
            signal.signal(signal.SIGINT, before)
        json, _, text = report.read().partition("\n")
    return code if code >= 0 else 128 - code, json or "{}", text


def answer_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main():
    if sys.argv[1:2] != ["run"]:
        sys.exit("usage: skyline run [options] -- COMMAND")
    options, command = parsed(sys.argv[2:])
    as_json = options.pop("json")
    code, json, text = run(options, command)
    print(json if as_json else text or "the program ended without a report")
    return code


if __name__ == "__main__":
    sys.exit(main())
