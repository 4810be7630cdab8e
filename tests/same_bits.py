#!/usr/bin/env python3
"""Shows that two builds of skyline compute the same bits:

    python3 tests/same_bits.py OLD/skyline NEW/skyline [--models lenet,seq2seq]

Runs the same commands with both programs and compares losses, parameters and optimizer state,
recorded traces, plans, and the figures of dry runs and comparisons. Prints one line a command and
exits 1 if any differs. Times and names of folders are not compared.
"""

import argparse
import csv
import hashlib
import json
import pathlib
import subprocess
import sys
import tempfile

SMALL_IMAGES = ["--data", "shapes", "--images", "64", "--threads", "1"]
SMALL_TEXT = ["--data", "numbers", "--pairs", "300", "--units", "16", "--layers", "2",
              "--val-pairs", "20", "--threads", "1"]
PAPER = ["alexnet", "googlenet", "resnet50", "inception-resnet", "inception-resnet-figure",
         "mobilenet_v2", "resnet18", "vgg16"]
FROM_CLOCKS = {"seconds", "planning_seconds", "step_seconds_median", "allocate_ns_median",
               "allocate_ns", "clock_ns", "stalled_seconds", "words_per_second", "data_wait",
               "data_wait_seconds", "first_batch_seconds", "run_directory",
               "process", "machine_memory"}  # the last two are the system's


def without_times(value):
    if isinstance(value, dict):
        return {k: without_times(v) for k, v in value.items() if k not in FROM_CLOCKS}
    if isinstance(value, list):
        return [without_times(v) for v in value]
    return value


def run(program, words, folder):
    done = subprocess.run([program, *words, "--json"], capture_output=True, text=True, cwd=folder)
    if done.returncode != 0:
        raise RuntimeError(f"{program} {' '.join(words)}: {done.stderr.strip()[-300:]}")
    return without_times(json.loads(done.stdout))


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def tensors_sha256(path):
    """The tensors of a safetensors file by name, without its metadata."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8:8 + length])
    data = content[8 + length:]
    return {name: hashlib.sha256(data[slice(*tensor["data_offsets"])]).hexdigest()
            for name, tensor in header.items() if name != "__metadata__"}


def plan_rows(path):
    """A plan's blocks and certificate without its seconds."""
    with path.open() as file:
        return [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(file)]


def training(words, policies):
    """What a training left behind, under each policy."""
    def result(program, folder):
        found = {}
        for policy in policies:
            out = folder / policy
            run(program, ["train", *words, "--policy", policy, "--out", str(out)], folder)
            log = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
            latest = out / "checkpoints" / "latest"
            found[policy] = {
                "losses": [step["loss"] for step in log],
                "weights": tensors_sha256(latest / "weights.safetensors"),
                "state": tensors_sha256(latest / "state.safetensors"),
                "trace": sha256(out / "trace.csv"),
                "plan": plan_rows(out / "plan.csv"),
            }
        return found
    return result


def answer(words, keys=None):
    def result(program, folder):
        json_object = run(program, words, folder)
        return {k: json_object[k] for k in keys} if keys else json_object
    return result


def comparison(words):
    def result(program, folder):
        found = run(program, ["compare", *words, "--steps", "4"], folder)
        return {name: [row["losses"], row["parameters_sha256"], row["state_sha256"]]
                for name, row in found["allocators"].items()}
    return result


def cases():
    for model in ["mlp", "lenet", "resnet20"]:
        words = ["--model", model, *SMALL_IMAGES, "--batch-size", "8", "--epochs", "1"]
        yield model, f"train --model {model}, three policies", training(
            words, ["grow", "per-shape", "upper-bound"])
        yield model, f"compare --model {model}", comparison(
            ["--model", model, *SMALL_IMAGES, "--batch-size", "8"])
        for flags in (["--recompute", "3"], ["--fused-update"], ["--no-in-place"]):
            yield model, f"train --model {model} {' '.join(flags)}", training(
                [*words, *flags], ["per-shape"])
    for flags in ([], ["--unroll"], ["--bucket"]):
        words = ["--model", "seq2seq", *SMALL_TEXT, "--batch-size", "16", "--steps", "12", *flags]
        yield "seq2seq", f"train --model seq2seq {' '.join(flags)}, three policies", training(
            words, ["grow", "per-shape", "upper-bound"])
    yield "seq2seq", "compare --model seq2seq", comparison(
        ["--model", "seq2seq", *SMALL_TEXT, "--batch-size", "16"])
    for model in PAPER:
        yield model, f"compare --model {model}", comparison(
            ["--model", model, "--data", "shapes", "--images", "10",
             "--insize", "227" if model == "alexnet" else "224", "--batch-size", "1", "--threads",
             "2", "--allocators", "best-fit-pool,planned"])
    for model in ["mlp", "lenet", "resnet20", *PAPER]:
        for flags in ([], ["--infer"], ["--recompute", "4", "--fused-update"]):
            yield model, f"dry-run --model {model} {' '.join(flags)}", answer(
                ["dry-run", "--model", model, "--batch-size", "16", "--threads", "2", *flags])
        yield model, f"summary --model {model}", answer(["summary", "--model", model])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--models", help="only these, between commas")
    arguments = parser.parse_args()
    programs = [str(pathlib.Path(p).resolve()) for p in (arguments.old, arguments.new)]
    wanted = arguments.models.split(",") if arguments.models else None
    different = 0
    for model, name, result in cases():
        if wanted and model not in wanted:
            continue
        with tempfile.TemporaryDirectory() as top:
            results = []
            for side, program in zip(("old", "new"), programs):
                folder = pathlib.Path(top) / side
                folder.mkdir()
                results.append(result(program, folder))
        same = results[0] == results[1]
        different += not same
        print("same     " if same else "DIFFERENT", name, flush=True)
        if not same:
            for key in results[0].keys() | results[1].keys():
                if results[0].get(key) != results[1].get(key):
                    print(f"    {key}: {str(results[0].get(key))[:300]}\n"
                          f"    {' ' * len(key)}  {str(results[1].get(key))[:300]}")
    print(f"{different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
