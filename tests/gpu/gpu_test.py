"""Tests tests/gpu.sh: rehearses its parts on the emulated device. Then, with stand-ins for our
programs, PyTorch and compute-sanitizer, checks what fails a part, that all parts together keep the
deadline, and that results stay when something hangs, dies, fills the disk or ends the script.

    python3 gpu_test.py BUILD

Exits with 77 if the build has no emulated programs.
"""

import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

import parts
from run import Outcome

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
EMULATED = BUILD / "tests/cuda/emulated_programs"
KILL_SCRIPT = "os.kill(script(), 9); time.sleep(20)"

# A program that does what it is expected to do, unless SKYLINE_PLANT, Python, does something else
# first. `name` is the program's, `words` are its arguments.
STAND_IN = r'''#!@PYTHON@ -BSE
import os, signal, sys, time
class Later:
    """A module that is imported when it is used: hundreds of stand-ins start, and most use none."""
    def __init__(self, name):
        self.name = name
    def __getattr__(self, member):
        return getattr(__import__(self.name), member)
json, pathlib, re, subprocess = map(Later, ("json", "pathlib", "re", "subprocess"))
name, words = os.path.basename(sys.argv[0]), sys.argv[1:]
def option(flag, default=None):
    return words[words.index(flag) + 1] if flag in words else default
def script():
    """The process of tests/gpu/parts.py, above this one."""
    process = os.getppid()
    while "parts.py" not in pathlib.Path(f"/proc/{process}/cmdline").read_text():
        process = int(re.search(r"PPid:\s*(\d+)", pathlib.Path(f"/proc/{process}/status").read_text())[1])
    return process
def sanitizes(tool):
    return name == "compute-sanitizer" and option("--tool") == tool
def finding(place, kind="Invalid read of 4 bytes"):
    print(f"========= {kind}\n=========     at {place}+0x10\n=========", flush=True)
bytes_, losses, launches, sha = 1024, [2.5, 2.25, 2.0, 1.5, 1.25, 1.0], 3, "5ha"
reserved_by_dry_run, foreseen_trace = 1024, "id,lower,upper,size\n0,0,2,64\n"
tests, loses, hangs = @TESTS@, (), ()
exec(os.environ.get("SKYLINE_PLANT", ""))
if name == "nvidia-smi":
    print("a stand-in for a card")
elif name == "torch":
    if words[0] == "-B":
        subprocess.run([option("--ours"), "--serve"])
        print("steps: " + " ".join(words[2:]), flush=True)
elif name == "compute-sanitizer":
    program = next(k for k, word in enumerate(words) if word.startswith("/"))
    sys.exit(subprocess.run(words[program:]).returncode)
elif name == "cuda_tests" and words == ["--gtest_list_tests"]:
    for test in tests:
        print(test.rsplit(".", 1)[0] + ".\n  " + test.rsplit(".", 1)[1])
elif name == "cuda_tests":
    for test in words[0].split("=", 1)[1].split(":"):
        print(f"[ RUN      ] {test}", flush=True)
        if test in loses:
            os.kill(os.getpid(), 11)
        if test in hangs:
            time.sleep(60)
        print(f"[       OK ] {test} (1 ms)", flush=True)
elif name == "cuda_step_benchmark":
    print("our steps: " + " ".join(words))
    print("planned  12.5 ms  80.0  40 %  1 GiB  0.1 ms")
    print("conv2d  53  12.500 ms  80.0 %")
    if option("--write-engines"):
        pathlib.Path(option("--write-engines")).write_text("{}")
elif words[:1] == ["compare"]:
    allocators = option("--allocators").split(",")
    print(json.dumps({"allocators": {allocator: {
        "losses": losses, "parameters_sha256": sha if allocator != "caching" else "5ha",
        "state_sha256": "5ha"} for allocator in allocators}}))
elif words[:1] == ["train"]:
    signal.signal(signal.SIGINT, lambda *_: sys.exit(130))
    out = pathlib.Path(option("--output"))
    (out / "checkpoints/latest").mkdir(parents=True)
    (out / "checkpoints/latest/weights.safetensors").write_text("\0" * 8 + sha)
    (out / "log.jsonl").write_text("".join(f'{{"loss":{loss}}}\n' for loss in losses))
    (out / "engines.json").write_text("{}")
    (out / "trace.csv").write_text("id,lower,upper,size\n0,0,2,64\n")
    if option("--epochs") == "1000":
        time.sleep(60)
    print(json.dumps({"memory": {"peak_reserved_after_switch": bytes_},
                      "trace_recorded": True, "launches_of_last_step": {"graphs": launches if "--graph" in words else 0,
                                                "ops": 9}}))
elif words[:1] == ["reproduce"]:
    pathlib.Path(option("--output")).mkdir(parents=True)
    (pathlib.Path(option("--output")) / "pgmo.json").write_text("{}")
    print("(a)  resnet50  training  128  planned  0.1")
elif words[:1] == ["dry-run"]:
    pathlib.Path(option("--write-trace")).write_text(foreseen_trace)
    print(json.dumps({"allocators": {"planned": {"peak_reserved": reserved_by_dry_run}}}))
'''

TESTS = [*parts.MEMCHECKED, "DeviceMemory.A", "Networks/Linear.B/0", "Conv2d.C", "Lstm.D",
         "CudaTraining.AsksTheDriverForNothing/x", "Relu.F", "Relu.G", "Relu.H", "Relu.I",
         "Loss.NeedsNoMemoryBesideTheLogits"]
BASIC = parts.matching(TESTS, [p for patterns in parts.BASICS.values() for p in patterns])


class Results:
    """What a run of the script left behind."""

    def __init__(self, folder, status, seconds, printed):
        self.folder, self.status, self.seconds, self.printed = folder, status, seconds, printed

    def text(self, name):
        path = self.folder / name
        return path.read_text() if path.exists() else ""

    def logs(self):
        """The texts of the archive by name."""
        with tarfile.open(self.folder / "logs.tar.gz") as archive:
            return {member.name: archive.extractfile(member).read().decode("utf-8", "replace")
                    for member in archive.getmembers()}


class GpuScriptTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="gpu-test-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def stand_ins(self, *left_out):
        text = STAND_IN.replace("@PYTHON@", sys.executable).replace("@TESTS@", repr(TESTS))
        for name in ("programs/tests/cuda/cuda_tests", "programs/train/skyline",
                     "programs/tests/benchmarks/cuda_step_benchmark", "bin/nvidia-smi", "bin/torch",
                     "bin/compute-sanitizer"):
            path = self.folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(0o755)
        for name in left_out:
            (self.folder / name).unlink()

    def environment(self, plant="", **variables):
        return {**os.environ, "SKYLINE_RESULTS": str(self.folder / "results"),
                "SKYLINE_PYTHON": str(self.folder / "bin/torch"), "SKYLINE_PLANT": plant,
                "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "SKYLINE_SECONDS": "120",
                **variables}

    def run_script(self, *words, plant="", under=(), **variables):
        begin = time.monotonic()
        done = subprocess.run([*under, "bash", ROOT / "tests/gpu.sh", *words], text=True,
                              env=self.environment(plant, **variables), stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        return Results(self.folder / "results", done.returncode, time.monotonic() - begin,
                       done.stdout)

    def run_parts(self, *names, plant="", **variables):
        self.stand_ins()
        return self.run_script("--run", self.folder / "programs", *names, plant=plant, **variables)

    def expect(self, results, status, *lines):
        """The exit code, and a line of the summary or of parts.txt for each pattern."""
        told = results.printed + results.text("parts.txt")
        for line in lines:
            self.assertRegex(told, re.compile(line, re.M), results.printed)
        self.assertEqual(results.status, status, results.printed)

    def few_results(self, results):
        files = list(results.folder.iterdir())
        self.assertLessEqual(len(files), 4)
        for file in files:
            self.assertLess(file.stat().st_size, 16 * 2**20, file)


class Rehearsal(GpuScriptTest):
    def test_each_part_runs_on_the_emulated_device(self):
        self.stand_ins("bin/compute-sanitizer")
        results = self.run_script("--rehearse", BUILD, plant="""
if name == "torch": sys.exit("no torch here")""", SKYLINE_SECONDS="280")
        self.expect(results, 0, "^  mlp: losses as the CPU's: ", "^  seq2seq: losses as the CPU's: ",
                    "^  mlp: 7 allocators, the same bits", "^  seq2seq: 7 allocators, the same bits",
                    "^  mlp: the same bits, the last step launched [1-9]",
                    "^  mlp: [1-9][0-9]* bytes and each request as foreseen",
                    "^  seq2seq: [1-9][0-9]* bytes and each request as foreseen",
                    "^  mlp, engines measured: planned .* ms ",
                    "^  an interrupt saves its work", "^pytorch-fp32 ended: left out: no torch")
        for name, part in parts.PARTS.items():
            if part.by_default:
                self.assertRegex(results.text("parts.txt"), f"(?m)^{name} ended: (passed|left out)")
        self.few_results(results)
        self.assertIn("profile-tf32.mlp.measured.engines.json", results.logs())
        in_one_process = subprocess.run(
            [EMULATED / parts.TESTS, "--gtest_filter=*Relu*:-" + ":".join(
                (*parts.REHEARSED.left_out, *sum(parts.BASICS.values(), ())))],
            stdout=subprocess.PIPE, text=True).stdout
        passed = in_one_process.count("[       OK ]")
        self.assertGreater(passed, 0)
        self.assertIn(f"tests: {passed} passed, 0 failed", results.printed)


class WithStandIns(GpuScriptTest):
    def test_all_parts_pass_with_stand_ins(self):
        results = self.run_parts(SKYLINE_SECONDS="900")
        self.expect(results, 0)
        for name, part in parts.PARTS.items():
            if part.by_default:
                self.assertRegex(results.text("parts.txt"), f"(?m)^{name} ended: passed")
        self.few_results(results)

    def test_without_a_card_nothing_runs(self):
        results = self.run_parts(plant='if name == "nvidia-smi": sys.exit(9)')
        self.expect(results, 3, "no CUDA device answers: nothing was run")

    def test_a_program_that_does_not_start_ends_the_run_at_once(self):
        results = self.run_parts(plant="""
if name == "skyline": sys.exit("error while loading shared libraries: libcudnn.so.9")""")
        self.expect(results, 3, "train/skyline does not start: .*libcudnn.so.9")
        self.assertLess(results.seconds, 10)

    def test_an_unknown_part_is_named(self):
        results = self.run_parts("smoke", "smok")
        self.expect(results, 2, "unknown part 'smok'; known are: smoke ")


class Deadline(GpuScriptTest):
    def test_parts_that_hang_keep_it_and_the_rest_is_left_out(self):
        results = self.run_parts(plant="""
asked = ("--version", "--help", "--gtest_list_tests")
if name != "nvidia-smi" and not set(words) & set(asked): time.sleep(60)""", SKYLINE_SECONDS="10")
        self.expect(results, 1, "^smoke ended: out of time", "^memcheck left out: no time",
                    "^racecheck left out: no time")
        self.assertLess(results.seconds, 20)

    def test_a_part_that_hangs_costs_its_own_limit(self):
        results = self.run_parts("train", "basics", SKYLINE_PART_SECONDS="3", plant="""
if words[:1] == ["train"]: print("a long training", flush=True); time.sleep(60)""")
        self.expect(results, 1, "^train ended: out of time", "^basics ended: passed")
        self.assertLess(results.seconds, 15)
        self.assertIn("a long training", results.logs()["train.images.txt"])

    def test_a_program_that_prints_without_end_is_ended(self):
        results = self.run_parts("train", "basics", plant="""
if words[:1] == ["train"]:
    while True: print("y" * 65536)""")
        self.expect(results, 1, "images: prints without end", "^basics ended: passed")
        self.few_results(results)

    def test_children_of_a_part_end_with_it(self):
        results = self.run_parts("train", SKYLINE_PART_SECONDS="2", plant="""
if words[:1] == ["train"]:
    child = subprocess.Popen(["sleep", "61.5"]); print("child", child.pid, flush=True)
    child.wait()""")
        child = re.search(r"child (\d+)", results.logs()["train.images.txt"])[1]
        state = pathlib.Path(f"/proc/{child}/stat")
        self.assertTrue(not state.exists() or state.read_text().split()[2] == "Z")


class ResultsStay(GpuScriptTest):
    def test_when_the_script_is_killed(self):
        results = self.run_parts("basics", "profile-tf32", "train", plant=f"""
if name == "cuda_step_benchmark" and "--profile" in words: {KILL_SCRIPT}""")
        self.assertNotEqual(results.status, 0)
        self.assertRegex(results.text("summary.txt"), "(?m)^basics: [1-9][0-9]* passed, 0 failed")
        self.assertEqual(results.text("parts.txt").splitlines()[-1], "profile-tf32 began")
        self.assertIn("[       OK ]", "".join(results.logs().values()))
        self.few_results(results)

    def test_when_the_script_is_asked_to_end(self):
        self.stand_ins()
        begin = time.monotonic()
        process = subprocess.Popen(
            ["bash", ROOT / "tests/gpu.sh", "--run", self.folder / "programs", "basics", "train"],
            env=self.environment('if words[:1] == ["train"]: time.sleep(60)'), text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
        parts_file = self.folder / "results/parts.txt"
        while "train began" not in (parts_file.read_text() if parts_file.exists() else ""):
            self.assertLess(time.monotonic() - begin, 30)
            time.sleep(0.05)
        os.killpg(process.pid, signal.SIGTERM)
        printed = process.communicate()[0]
        results = Results(self.folder / "results", process.returncode, 0, printed)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertRegex(results.text("summary.txt"), "(?m)^ended by SIGTERM")
        self.assertRegex(results.text("parts.txt"), "(?m)^basics ended: passed")
        self.assertIn("basics.0.0.txt", results.logs())

    def test_when_a_part_fills_the_disk(self):
        mount = 'mount -t tmpfs -o size=6m tmpfs "$1" && shift && exec "$@"'
        small = self.folder / "small"
        small.mkdir()
        mounts = ["unshare", "-m", "bash", "-c", mount, "bash", str(small)]
        if subprocess.run([*mounts, "true"], stderr=subprocess.DEVNULL).returncode != 0:
            self.skipTest("no small disk can be mounted here")
        self.stand_ins()
        kept = self.folder / "kept"
        results = self.run_script(
            "--run", self.folder / "programs", "basics", "graph", "dry-run", plant=f"""
if words[:1] == ["train"] and "graph" in option("--output") or "ops" in str(option("--output")):
    with open(option("--output") + ".bin", "wb") as file:
        while True: file.write(bytes(1 << 20)); file.flush()""",
            under=["unshare", "-m", "bash", "-c",
                   'mount -t tmpfs -o size=6m tmpfs "$1" && mkdir "$1/tmp" && "${@:3}"; status=$?\n'
                   'cp -r "$1/results" "$2"; exit $status', "bash", str(small), str(kept)],
            SKYLINE_RESULTS=str(small / "results"), TMPDIR=str(small / "tmp"))
        results.folder = kept
        self.expect(results, 1, "^basics ended: passed", "^graph ended: failed",
                    "No space left on device", "^dry-run ended: passed")
        self.assertIn("basics.0.0.txt", results.logs())


class Smoke(GpuScriptTest):
    def test_another_loss_fails_with_its_step_and_is_triaged(self):
        results = self.run_parts("smoke", plant="""
if "cuda" in words and "resnet20" in words: losses[0] *= 1.002""")
        self.expect(results, 1, "^  lenet: losses as the CPU's",
                    "^  resnet20: loss of step 1 is 2.505000, the CPU's 2.500000",
                    "^  resnet50: losses as the CPU's", "^  under memcheck: no finding")
        self.assertIn("smoke.triage.memcheck.0.txt".replace(".0", ""), results.logs())

    def test_a_later_loss_may_differ_but_is_finite(self):
        self.expect(self.run_parts("smoke", plant='if "cuda" in words: losses[4] *= 1.1'), 0)

    def test_the_second_loss_may_differ_by_what_roundings_move(self):
        self.expect(self.run_parts("smoke", plant='if "cuda" in words: losses[1] *= 1.03'), 0)
        results = self.run_parts("smoke", plant='if "cuda" in words: losses[1] *= 1.06')
        self.expect(results, 1, "^  lenet: loss of step 2 is 2.385000, the CPU's 2.250000")

    def test_a_loss_that_is_no_number_fails(self):
        results = self.run_parts("smoke", plant="""
if "cuda" in words and "lenet" in words: losses[5] = None""")
        self.expect(results, 1, "^  lenet: loss of step 6 is None")

    def test_a_crash_is_triaged_once(self):
        results = self.run_parts("smoke", plant="""
if name == "skyline" and "cuda" in words: os.kill(os.getpid(), 11)
if sanitizes("memcheck"): finding("skyline::sum")""")
        self.expect(results, 1, "^  lenet: ended by signal 11",
                    "^  each launch waited for: ended by signal 11",
                    "^  under memcheck: 1 Invalid read of 4 bytes at skyline::sum")
        self.assertEqual(results.printed.count("under memcheck"), 1)

    def test_a_missing_device_is_said_in_one_line(self):
        results = self.run_parts("smoke", plant="""
if "cuda" in words: sys.exit("error: [--device cuda] no CUDA device can be used: no driver")
if name == "skyline" and words[:1] == ["compare"]: time.sleep(30)""")
        self.expect(results, 1, "^== smoke failed: no CUDA device can be used: no driver after")
        self.assertLess(results.seconds, 15)

    def test_steps_that_fail_on_the_cpu_fail(self):
        results = self.run_parts("smoke", plant="""
if words[:1] == ["compare"] and "cuda" not in words: sys.exit("error: no memory")""")
        self.expect(results, 1, "^  lenet: the CPU's steps: ended with 1: error: no memory")


class TestsOfTheCard(GpuScriptTest):
    def test_a_shard_that_dies_costs_only_the_test_that_killed_it(self):
        results = self.run_parts("tests", plant='loses = ("Relu.G",)')
        others = len(TESTS) - len(BASIC) - 1  # one is too large
        self.expect(results, 1, f"^tests: {others - 1} passed, 0 failed", "^  not finished: Relu.G")

    def test_a_test_that_hangs_costs_only_itself(self):
        results = self.run_parts("tests", SKYLINE_PART_SECONDS="9",
                                 plant='hangs = ("Relu.G",)')
        self.expect(results, 1, "^  not finished: Relu.G", "^  hangs")

    def test_a_test_that_needs_the_card_alone_runs_after_the_others(self):
        results = self.run_parts("basics")
        self.expect(results, 0, f"^basics: {len(BASIC)} passed")
        self.assertIn("basics.alone.0.txt", results.logs())

    def test_a_runtime_that_sees_no_device_fails(self):
        results = self.run_parts("tests", plant="""
if name == "cuda_tests" and words != ["--gtest_list_tests"]:
    print("no CUDA device: driver version is insufficient"); sys.exit(0)""")
        self.expect(results, 1, "^tests ended: failed: no CUDA device: driver version is insufficient")


class Comparisons(GpuScriptTest):
    def test_other_bits_under_one_allocator_fail(self):
        results = self.run_parts("bits", plant='if "resnet20" in words: sha = "0ther"')
        self.expect(results, 1, "^  lenet: 7 allocators, the same bits",
                    "^  resnet20: 7 allocators, other bits")

    def test_no_launched_graph_fails(self):
        results = self.run_parts("graph", plant="launches = 0")
        self.expect(results, 1, "launched 0 graphs")

    def test_other_parameters_with_graphs_fail(self):
        results = self.run_parts("graph", plant='if "--graph" in words: sha = "0ther"')
        self.expect(results, 1, "^  lenet: other bits")

    def test_a_dry_run_that_is_off_by_one_byte_fails(self):
        results = self.run_parts("dry-run", plant='if "lenet" in words: reserved_by_dry_run += 1')
        self.expect(results, 1, "^  lenet: the run reserves 1024 bytes, the dry run foresaw 1025",
                    "^  resnet50: 1024 bytes and each request as foreseen")

    def test_a_dry_run_with_another_request_fails(self):
        results = self.run_parts("dry-run", plant="""
foreseen_trace = "id,lower,upper,size\\n0,0,2,65\\n" """)
        self.expect(results, 1, "^  lenet: line 2 of the trace is 0,0,2,64, the dry run foresaw 0,0,2,65")


class Speed(GpuScriptTest):
    def test_both_precisions_are_profiled_with_both_choices_of_engines(self):
        results = self.run_parts("profile")
        self.expect(results, 0)
        logs = results.logs()
        for name in ("profile-tf32", "profile-fp32"):
            for run in ("resnet50.heuristics", "resnet50.measured", "resnet20.heuristics"):
                called = logs[f"{name}.{run}.txt"].splitlines()[0]
                self.assertIn(" ".join(("--engines", run.split(".")[1])), called)
                self.assertEqual("--tf32" in called, name == "profile-tf32")
                self.assertIn(f"{name}.{run}.engines.json", logs)

    def test_pytorch_takes_turns_eager_first_and_compiled_last(self):
        results = self.run_parts("pytorch")
        self.expect(results, 0, "^  our steps: --serve")
        steps = re.findall("steps: (--ours .*)", results.printed)
        ways = [re.search("--variants ([^ ]+)", step)[1] for step in steps]
        self.assertEqual(ways, ["eager,channels-last", "channels-last"] * 2 + ["torch.compile"])
        self.assertEqual(["--tf32" in step for step in steps], [True] * 2 + [False] * 2 + [True])
        self.assertEqual([re.search("--our-flags=([^-]*--[a-z-]+)", step)[1] for step in steps],
                         ["--prefetch", "--recompute"] * 2 + ["--prefetch"])

    def test_pytorch_that_is_missing_is_left_out(self):
        results = self.run_parts("pytorch-tf32", "basics", plant="""
if name == "torch": sys.exit("ModuleNotFoundError: No module named 'torch'")""")
        self.expect(results, 0, "^pytorch-tf32 ended: left out: no torch .*No module named 'torch'",
                    "^basics ended: passed")

    def test_pytorch_that_fails_fails(self):
        results = self.run_parts("pytorch-tf32", plant="""
if name == "torch" and "eager" in str(words): sys.exit("error: out of memory")""")
        self.expect(results, 1, "ended with 1: error: out of memory", "steps: .*channels-last")


class Sanitizer(GpuScriptTest):
    def test_no_findings_are_a_success(self):
        results = self.run_parts("sanitizer")
        self.expect(results, 0, "^memcheck: [1-9][0-9]* passed, 0 failed",
                    "^racecheck: [1-9][0-9]* passed, 0 failed")

    def test_findings_in_our_kernels_fail(self):
        results = self.run_parts("sanitizer", plant="""
if name == "compute-sanitizer" and "train" not in words: finding("skyline::sum")""")
        self.expect(results, 1, *[f"^{tool} ended: failed" for tool in
                                  ("memcheck", "racecheck", "initcheck", "memcheck-all")],
                    "Invalid read of 4 bytes at skyline::sum")

    def test_initcheck_does_not_mind_findings_in_libraries(self):
        results = self.run_parts("initcheck", plant="""
if name == "compute-sanitizer": finding("library::copy")""")
        self.expect(results, 0)

    def test_without_it_the_parts_say_so(self):
        self.stand_ins("bin/compute-sanitizer")
        if shutil.which("compute-sanitizer"):
            self.skipTest("this machine has a compute-sanitizer")
        results = self.run_script("--run", self.folder / "programs", "sanitizer")
        self.expect(results, 0, "^memcheck ended: left out: no compute-sanitizer in the toolkit")

    def test_tests_asked_for_by_name_exist(self):
        program = BUILD / parts.TESTS
        if not program.exists():
            self.skipTest("no toolkit has built the tests of the card")
        card = argparse.Namespace(ours=lambda *words, **_: Outcome(
            0, subprocess.run([program, words[1]], stdout=subprocess.PIPE, text=True).stdout, ""))
        names = parts.tests_of(card)
        self.assertEqual(set(parts.MEMCHECKED) - set(names), set())
        for pattern in (*parts.TOO_LARGE, *parts.ALONE, *sum(parts.BASICS.values(), ())):
            self.assertTrue(parts.matching(names, (pattern,)), pattern)

    def test_a_test_that_no_longer_exists_fails_memcheck(self):
        results = self.run_parts("memcheck", plant='tests = tests[1:]')
        self.expect(results, 1, "asks for tests that do not exist: " +
                    re.escape(parts.MEMCHECKED[0]))

    def test_findings_stay_of_a_shard_that_hangs(self):
        results = self.run_parts("racecheck", "basics", SKYLINE_PART_SECONDS="4", plant="""
if sanitizes("racecheck") and "Relu.G" in " ".join(words): finding("skyline::sum"); time.sleep(60)""")
        self.expect(results, 1, "1 Invalid read of 4 bytes at skyline::sum", "^basics ended: passed")

    def test_steps_in_tf32_are_believed_if_a_plain_range_has_the_finding_too(self):
        results = self.run_parts("memcheck-all", plant="""
if sanitizes("memcheck") and "planned" in words: finding("library::copy")""")
        self.expect(results, 0, "^  memcheck in TF32 with planned:")
        results = self.run_parts("memcheck-all", plant="""
if sanitizes("memcheck") and "--tf32" in words: finding("library::copy")""")
        self.expect(results, 1, "^  memcheck in TF32 with best-fit-pool:")


def run_four_at_a_time():
    """Most tests wait. Returns whether all passed."""
    cases = list(cases_of(unittest.defaultTestLoader.loadTestsFromModule(sys.modules[__name__])))
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        results = list(pool.map(run_case, cases))
    return all(result.wasSuccessful() for result in results)


def cases_of(suite):
    for test in suite:
        yield from cases_of(test) if isinstance(test, unittest.TestSuite) else [test]


def run_case(case):
    begin, result = time.monotonic(), unittest.TestResult()
    case.run(result)
    problems = [text for _, text in result.failures + result.errors]
    how = "failed" if problems else f"skipped: {result.skipped[0][1]}" if result.skipped else "passed"
    print(f"{case.id().split('.', 1)[1]}: {how} in {time.monotonic() - begin:.1f} s", *problems,
          sep="\n", flush=True)
    return result


if __name__ == "__main__":
    needed = [BUILD / f"tests/cuda/{name}" for name in (
        "cuda_emulated_op_tests", "cuda_emulated_training_tests", "cuda_emulated_tests")]
    needed += [EMULATED / parts.SKYLINE, EMULATED / parts.BENCHMARK]
    for program in needed:
        if not program.exists():
            print(f"left out: {program} was not built")
            sys.exit(77)
    sys.exit(not run_four_at_a_time())
