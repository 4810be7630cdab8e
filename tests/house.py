#!/usr/bin/env python3
"""Prints figures of the source tree beside the goals that we have set for them:

    python3 tests/house.py [--build build/release]

Counts are those of files that git knows. C++ means .h, .cpp and .cu outside of tests/. A closure
follows #include "…" and counts the file itself. Members and functions are counted by a parser that
knows only braces, semicolons and this tree's style. --build counts the headers that a build
installs; without it, those that memory/install.cmake names now.
"""

import argparse
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
NO_SOURCE = (".json", ".csv", ".png", ".jpg", ".gif", ".gz", ".svg", ".bin")
# From the top: a folder or a loose file of train/ may include those after it.
FLOORS = ["main", "commands", "trainer_report", "labs", "lab", "make_workload", "translation",
          "text", "images", "even_workload", "trainer", "ranks", "workload", "data_results",
          "report", "decide", "state", "run", "options", "run_folder", "checkpoints", "cli",
          "optimizers", "history"]
LANE_ROOMS = r"^(framework/lanes|memory/lanes|train/lab/lanes)/"
LANES = r"\b[Ll]anes\b|[A-Za-z]+Lanes|Lanes[A-Z]|LaneQueue|WideOp"
RANKS = r"\branks\b|Rank[A-Z][a-z]|SumBuckets|\branks_"
AGAIN = r"\b[Rr]emade|\b[Rr]emake|Remade|Remake|made again|mak(e|es) [a-z ]*again"

FILES = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True,
                       check=True).stdout.splitlines()
TEXT = {f: (ROOT / f).read_text(errors="replace") for f in FILES
        if not f.endswith(NO_SOURCE) and (ROOT / f).is_file()}
CODE = {f: t for f, t in TEXT.items() if f.endswith((".h", ".cpp", ".cu")) and
        not f.startswith("tests/")}


def lines(files):
    return sum(TEXT[f].count("\n") for f in files)


def includes(file):
    return [f for f in re.findall(r'^#include "(.+)"', TEXT[file], re.M) if f in TEXT]


def closure(file):
    seen, open_files = set(), [file]
    while open_files:
        file = open_files.pop()
        if file not in seen:
            seen.add(file)
            open_files += includes(file)
    return f"{len(seen)}; {lines(seen):,}"


def body(file, name):
    """The declarations of a class: without comments, what is nested, and preprocessor lines."""
    if file not in TEXT:
        return []
    text = re.sub(r"//.*|^#.*", "", TEXT[file], flags=re.M)
    begin = re.search(rf"\b(?:class|struct) {name}\b[^;{{]*{{", text)
    kept, depth = "", 1
    for sign in text[begin.end():] if begin else "":
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if depth == 0:
            break
        # A body ends a declaration, unless it is a default value among parameters.
        if sign == "}" and depth == 1 and kept.count("(") == kept.count(")"):
            kept += ";"
        elif sign not in "{}" and depth == 1:
            kept += sign
    kept = re.sub(r"\b(public|private|protected):|<[^<>;]*>", "", re.sub(r"<[^<>;]*>", "", kept))
    found = [" ".join(statement.split()) for statement in kept.split(";")]
    return [s for s in found if s and not s.startswith(("using ", "friend ", "}", "static "))]


def functions(file, name):
    """Functions of a class with `name(`, without constructors, destructors and operators."""
    own = re.compile(rf"^(explicit )?~?{name.split('::')[-1]}\b ?\(|operator|^virtual ~")
    return [s for s in body(file, name) if re.match(r"[^=]*\w ?\(", s) and not own.search(s)]


def members(file, name):
    """Variables; `int a, b` are two."""
    variables = [s for s in body(file, name)
                 if not re.match(r"[^=]*\(", s) and not re.match(r"(class|struct|enum)\b", s)]
    return sum(1 + re.sub(r"=[^,]*", "", s).count(",") for s in variables)


def room_of(file):
    parts = pathlib.PurePath(file).parts
    if parts[0] != "train":
        return None
    return parts[1] if len(parts) > 2 else pathlib.PurePath(file).stem


def arrows():
    found = {(room_of(f), room_of(to)) for f in CODE for to in includes(f)}
    found = {(a, b) for a, b in found if a and b and a != b}
    unknown = {room for arrow in found for room in arrow} - set(FLOORS)
    up = sorted(f"{a} → {b}" for a, b in found
                if not {a, b} & unknown and FLOORS.index(a) > FLOORS.index(b))
    return f"{len(up)} of {len(found)}", up + [f"no floor: {room}" for room in sorted(unknown)]


def knowing(pattern, without=r"(?!)"):
    return sum(1 for f, t in CODE.items() if re.search(pattern, t) and not re.search(without, f))


def installed(build):
    if build is None:
        rules = TEXT["memory/install.cmake"]
        if "PATTERN *.h" not in rules:
            return len(re.findall(r"\S+\.h\b", rules))
        return sum(1 for f in FILES if re.match(r"memory/(?!python/).*\.h$", f))
    with tempfile.TemporaryDirectory() as prefix:
        for part in ("memory", "formats", "solvers"):
            subprocess.run(["cmake", "--install", build, "--prefix", prefix, "--component", part],
                           check=True, stdout=subprocess.DEVNULL)
        return sum(1 for _ in pathlib.Path(prefix).rglob("*.h"))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", help="build folder whose memory/ is installed and counted")
    build = parser.parse_args().build
    outside = [f for f in TEXT if not f.startswith("tests/")]
    context = ["framework/context.h", "framework/context.cpp"]
    up, names = arrows()
    rows = [
        ("lines outside tests/", f"{lines(outside):,}", "≤ 89,000, then ≤ 85,000"),
        ("C++ files; lines; lines a file",
         f"{len(CODE):,}; {lines(CODE):,}; {lines(CODE) / len(CODE):.1f}",
         "1,055; ≤ 81,000; 77, then ≤ 780; ≤ 77,500; ≥ 98"),
        ("Context: lines of context.h and .cpp; members; options",
         f"{lines(f for f in context if f in TEXT)}; {members(context[0], 'Context')}; "
         f"{members(context[0], 'Options')}", "≤ 560; ≤ 17; 13"),
        ("Compute: virtual functions", sum("virtual" in s for s in functions(
            "framework/compute.h", "Compute")), "8"),
        ("Trainer: members", members("train/trainer.h", "Trainer"), "≤ 23"),
        ("Workload: functions", len(functions("train/workload.h", "Workload")), "≤ 12"),
        ("closure of train/workload.h: files; lines", closure("train/workload.h"), "≤ 45; ≤ 3,000"),
        ("closure of memory/session/session.h: files; lines",
         closure("memory/session/session.h"), "≤ 14; ≤ 1,100"),
        ("arrows up in train/", up, "0"), *((f"    {name}", "", "") for name in names),
        ("files that know lanes", knowing(LANES, LANE_ROOMS), "≤ 38, then ≤ 34"),
        ("files that know ranks", knowing(RANKS, r"^memory/|/(ranks|nccl)/"), "≤ 52, then ≤ 46"),
        ("files with remake, remade, made again", knowing(AGAIN), "0"),
        ("headers of memory/ that are installed", installed(build), "≤ 32"),
    ]
    print(f"{'figure':<56} {'today':>22}  goal")
    for name, today, goal in rows:
        print(f"{name:<56} {today:>22}  {goal}")


if __name__ == "__main__":
    main()
