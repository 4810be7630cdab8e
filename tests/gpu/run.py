"""What all parts of tests/gpu.sh stand on: one deadline, programs that end in time, and results that
stay whatever ends the run.

Results are at most four files of at most 15 MiB in one folder: parts.txt (a line when a part begins
and one when it ends), summary.txt (what parts told), logs.tar.gz (what programs printed), renewed
after each part and every ten seconds, and the new archive while it is written.
"""

import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import threading
import time

TO_FINISH = 5  # seconds before the deadline that belong to the results
TO_SAVE = 3  # seconds between asking a program to end and ending it
RENEWED_EVERY = 10  # seconds
LONGEST_LOG = 16 * 2**20  # bytes; a program that prints more hangs in a loop
LARGEST_ARCHIVE = 15 * 2**20  # bytes
DEFAULT_SECONDS = 3600


class Ended(Exception):
    """The run was asked to end by a signal."""

    def __init__(self, number):
        super().__init__(signal.Signals(number).name)
        self.number = number


class LeftOut(Exception):
    """A part cannot run here, for the reason that is its text."""


class NoDevice(Exception):
    """A program found no device, so the rest of the part would say the same."""


@dataclasses.dataclass
class Outcome:
    """How a program ended: its exit status, what it printed to standard output and to both outputs
    in turn, and why it was ended, if it was."""

    status: int
    out: str
    text: str
    ended: str = ""  # "out of time", "hangs" or "prints without end"

    @property
    def good(self):
        return self.status == 0 and not self.ended

    def reason(self):
        """One line that says why it failed."""
        if self.ended:
            return self.ended
        lines = [line.strip() for line in self.text.splitlines() if line.strip()]
        told = [line for line in lines if re.search(r"\berror\b", line, re.I)][-1:]
        how = (f"ended by signal {-self.status}" if self.status < 0
               else f"ended with {self.status}")
        return f"{how}: {(told or lines[-1:] or ['it printed nothing'])[0][:300]}"


class Log:
    """What one program printed. A full disk costs the log, never the run."""

    def __init__(self, path):
        self.path, self.bytes, self.both, self.last = path, 0, [], time.monotonic()
        self.lock = threading.Lock()
        try:
            self.file = open(path, "ab", buffering=0)
        except OSError:
            self.file = None

    def add(self, chunk):
        with self.lock:
            self.last = time.monotonic()
            self.bytes += len(chunk)
            if self.bytes > LONGEST_LOG:
                return
            self.both.append(chunk)
            try:
                if self.file:
                    self.file.write(chunk)
            except OSError:
                self.file = None


class Run:
    """One run of parts: its programs, its clock and its results."""

    def __init__(self, folder, rehearses, needed_seconds):
        """`needed_seconds`: the sum over the parts that were asked for. A longer deadline gives
        each of them a longer limit."""
        seconds = float(os.environ.get("SKYLINE_SECONDS") or DEFAULT_SECONDS)
        self.folder, self.rehearses = folder, rehearses
        self.ends = time.monotonic() + seconds
        # An emulated device computes slowly.
        self.scale = max(1.0, seconds / needed_seconds) * (8 if rehearses else 1)
        self.part_ends = self.ends
        self.results = pathlib.Path(os.environ.get("SKYLINE_RESULTS") or tempfile.mkdtemp(
            prefix="skyline-results-")).absolute()
        self.results.mkdir(parents=True, exist_ok=True)
        self.temporary = pathlib.Path(tempfile.mkdtemp(prefix="skyline-gpu-"))
        self.logs, self.scratch = self.temporary / "logs", self.temporary / "scratch"
        self.logs.mkdir()
        self.environment = dict(os.environ)
        self.live, self.lock, self.stopping = set(), threading.Lock(), threading.Event()
        self.renewing = threading.Lock()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)
        threading.Thread(target=self._renew_often, daemon=True).start()

    def close(self):
        """Ends all programs and leaves the results behind."""
        self.stopping.set()
        with self.lock:
            for process in self.live:
                end_group(process, signal.SIGKILL)
        self.renew_archive()
        shutil.rmtree(self.temporary, ignore_errors=True)

    def _end(self, number, _frame):
        self.stopping.set()
        raise Ended(number)

    # Results

    def note(self, line):
        """Adds a line to parts.txt."""
        self._append("parts.txt", line)

    def tell(self, text):
        """Prints lines and adds them to summary.txt."""
        text = shown(text)
        try:
            print(text, file=sys.stderr, flush=True)
        except OSError:
            pass  # whoever read this has gone; the results go on
        self._append("summary.txt", text)

    def _append(self, name, text):
        try:
            with open(self.results / name, "a", encoding="utf-8") as file:
                file.write(text + "\n")
        except OSError as error:
            print(f"{name}: {error.strerror}", file=sys.stderr, flush=True)

    def keep(self, path, name):
        """Copies a small file to the logs."""
        try:
            shutil.copy(path, self.logs / name)
        except OSError as error:
            self.tell(f"  {path.name} was not kept: {error.strerror}")

    def renew_archive(self):
        with self.renewing:
            fresh = self.results / "logs.tar.gz.new"
            try:
                files = sorted((path for path in self.logs.rglob("*") if path.is_file()),
                               key=lambda path: path.stat().st_size)
                while True:
                    with tarfile.open(fresh, "w:gz", compresslevel=6) as archive:
                        for path in files:
                            archive.add(path, path.relative_to(self.logs))
                    if fresh.stat().st_size <= LARGEST_ARCHIVE:
                        break
                    files.pop()  # the largest
                os.replace(fresh, self.results / "logs.tar.gz")
            except OSError:
                # The disk is full, or a log went: the archive before this one stays.
                try:
                    fresh.unlink()
                except OSError:
                    pass

    def _renew_often(self):
        while not self.stopping.wait(RENEWED_EVERY):
            self.renew_archive()

    # Time

    def left(self):
        """Seconds until the part's end."""
        return self.part_ends - time.monotonic()

    def left_of_all(self):
        """Seconds until the deadline, less those that the results need."""
        return self.ends - TO_FINISH - time.monotonic()

    def begin_part(self, seconds):
        limit = seconds * self.scale
        if os.environ.get("SKYLINE_PART_SECONDS"):
            limit = min(limit, float(os.environ["SKYLINE_PART_SECONDS"]))
        self.part_ends = time.monotonic() + min(limit, self.left_of_all())
        self.scratch.mkdir()

    def extend_part(self, seconds):
        """Gives the part more time, which later parts lose."""
        if not os.environ.get("SKYLINE_PART_SECONDS"):
            self.part_ends = time.monotonic() + min(self.left() + seconds, self.left_of_all())

    def end_part(self):
        # What a part wrote goes before the archive is written, in case it filled the disk.
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.renew_archive()

    # Programs

    def execute(self, command, log, seconds=None, quiet=None, environment=None, interrupt=None):
        """Runs `command` in a group of its own, which ends with it. Ends it when the part's time or
        `seconds` are over, or when it prints nothing for `quiet` seconds. Sends it SIGINT, as
        Ctrl-C does, as soon as interrupt() returns true."""
        begin = time.monotonic()
        until = begin + seconds if seconds else math.inf
        if self.left() < 0.1 or self.stopping.is_set():
            return Outcome(1, "", "", "out of time")
        kept = Log(self.logs / f"{log}.txt")
        kept.add(("$ " + " ".join(map(str, command)) + "\n").encode())
        prefix = ["setpriv", "--pdeathsig", "KILL", "--"] if shutil.which("setpriv") else []
        try:
            process = subprocess.Popen(
                prefix + [str(word) for word in command], stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                env={**self.environment, **(environment or {})})
        except OSError as error:
            return Outcome(127, "", f"error: {command[0]}: {error.strerror}")
        with self.lock:
            self.live.add(process)
        out = []
        readers = [threading.Thread(target=pump, args=(stream, sinks), daemon=True)
                   for stream, sinks in ((process.stdout, (kept.add, out.append)),
                                         (process.stderr, (kept.add,)))]
        for reader in readers:
            reader.start()
        ended = ""
        try:
            while process.poll() is None and not ended:
                now = time.monotonic()
                if now >= min(until, self.part_ends) or self.stopping.is_set():
                    ended = "out of time"
                elif quiet and now - kept.last > quiet:
                    ended = "hangs"
                elif kept.bytes > LONGEST_LOG:
                    ended = "prints without end"
                elif interrupt and interrupt():
                    end_group(process, signal.SIGINT)
                    interrupt = None
                time.sleep(0.02)
            if ended:
                end_group(process, signal.SIGTERM)
                try:
                    process.wait(TO_SAVE)
                except subprocess.TimeoutExpired:
                    pass
        finally:
            end_group(process, signal.SIGKILL)
            process.wait()
            with self.lock:
                self.live.discard(process)
        for reader in readers:
            reader.join(2)
        text = b"".join(kept.both[1:]).decode("utf-8", "replace")
        return Outcome(process.returncode, b"".join(out).decode("utf-8", "replace"), text, ended)

    def ours(self, program, *arguments, log, under=(), **limits):
        """Runs one of our programs, with the libraries that it needs; others keep their own."""
        outcome = self.execute(["env", f"LD_LIBRARY_PATH={self.libraries}", *under,
                                self.folder / program, *arguments], log, **limits)
        missing = re.search(r"no CUDA device.*", outcome.text)
        if missing and "[       OK ]" not in outcome.text:
            raise NoDevice(missing[0].strip())
        return outcome

    def json(self, *arguments, log, **limits):
        """Returns what skyline's --json printed, or None, and the outcome."""
        outcome = self.ours("train/skyline", *arguments, "--json", log=log, **limits)
        try:
            return json.loads(outcome.out), outcome
        except ValueError:
            return None, outcome


def pump(stream, sinks):
    for chunk in iter(lambda: stream.read1(65536), b""):
        for sink in sinks:
            sink(chunk)


def end_group(process, number):
    try:
        os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def shown(text):
    """`text` without characters that command a terminal."""
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", "?", text)
