"""Runs the tests of the card, several processes at a time, and reads what they and a sanitizer
print."""

import concurrent.futures
import fnmatch
import re

TESTS = "tests/cuda/cuda_tests"
SHARDS = 8  # processes that test at the same time
RESTARTS = 10  # of a shard whose test took the device along
# These tests look at, or take, all of the card's memory.
ALONE = ("*AsksTheDriverForNothing*", "*ARefusalOfTheDriver*")

LOSSES = re.compile("illegal memory access|misaligned address|launch failure|device-side assert|"
                    "illegal instruction|hardware stack error|invalid program counter|address space")
ENDED_TEST = re.compile(r"\[ *(OK|FAILED|SKIPPED) *\] ([^ ,]+).* ms\)$")


def read_tests(text):
    """Returns the outcomes of tests by name, up to the first test that lost the device or ended the
    program; that test's name, or ""; and what failed tests printed."""
    outcomes, running, lost, told, messages = {}, "", "", [], []
    for line in text.splitlines():
        ended = ENDED_TEST.match(line)
        if line.startswith("[ RUN      ] "):
            running, told = line[13:].split(",")[0].strip(), []
        elif ended and running:
            outcomes[running] = ended[1]
            if ended[1] == "FAILED":
                messages += [f"{running}:"] + told
            running = ""
            if lost:
                return outcomes, lost, messages
        elif running:
            told.append(line)
            if LOSSES.search(line):
                lost = running
    if running:
        outcomes[running] = "not finished"
        messages += [f"{running}:"] + told
    return outcomes, running, messages


def tests_of(card):
    """The names of all tests, in the order of their programs."""
    suite, names = "", []
    outcome = card.ours(TESTS, "--gtest_list_tests", log="tests.list")
    if not outcome.good:
        raise RuntimeError(f"tests cannot be listed: {outcome.reason()}")
    for line in outcome.out.splitlines():
        word = line.split("#")[0].strip()
        if line[:1] not in (" ", "") and word.endswith("."):
            suite = word
        elif line.startswith("  ") and suite:
            names.append(suite + word)
    return names


def matching(names, patterns, but=()):
    return [name for name in names if any(fnmatch.fnmatchcase(name, p) for p in patterns)
            and not any(fnmatch.fnmatchcase(name, p) for p in but)]


class Tested:
    """Outcomes of tests, told in a few lines."""

    def __init__(self, names):
        self.names, self.outcomes, self.messages, self.reasons = names, {}, [], []

    def with_outcome(self, *wanted):
        return [name for name in self.names if self.outcomes.get(name, "not run") in wanted]

    def tell(self, card, what):
        passed, failed, skipped = (self.with_outcome(how) for how in ("OK", "FAILED", "SKIPPED"))
        card.tell(f"{what}: {len(passed)} passed, {len(failed)} failed, {len(skipped)} skipped")
        if self.with_outcome("not run"):
            card.tell(f"  not run: {len(self.with_outcome('not run'))}")
        for how in ("FAILED", "not finished", "SKIPPED"):
            names = self.with_outcome(how)
            for name in names[:20]:
                card.tell(f"  {how.lower()}: {name}")
            if len(names) > 20:
                card.tell(f"  {how.lower()}: {len(names) - 20} more")
        for line in sorted(set(self.reasons)):
            card.tell(f"  {line}")
        for line in self.messages[:40]:
            card.tell(f"    {line[:200]}")
        return bool(passed) and not self.with_outcome("FAILED", "not finished", "not run")


def run_shard(card, names, log, tested, under, quiet):
    """Runs tests in one process. A lost device stays lost for the process, so the tests after that
    one run in a new process; a sanitizer's shard ends there. Returns all that was printed."""
    text = []
    for turn in range(RESTARTS):
        outcome = card.ours(TESTS, f"--gtest_filter={':'.join(names)}", log=f"{log}.{turn}",
                            under=under, quiet=quiet, environment={"OMP_NUM_THREADS": "2"})
        text.append(outcome.text)
        outcomes, lost, messages = read_tests(outcome.text)
        tested.outcomes.update(outcomes)
        tested.messages += messages
        if not outcomes or outcome.ended:
            tested.reasons.append(outcome.reason())
        names = names[names.index(lost) + 1:] if lost in names else []
        if not names or under or outcome.ended == "out of time":
            break
    return "".join(text)


def run_tests(card, what, names, shards=SHARDS, under=()):
    """Runs tests in shards at the same time, `under` a sanitizer if given, then those that need the
    card alone. Returns whether all passed, and all that was printed."""
    alone = matching(names, ALONE)
    beside = [name for name in names if name not in alone]
    tested = Tested(names)
    # A test that hangs leaves time for those after it. Sanitized ones may be silent for long.
    quiet = None if under else max(2, card.left() / 2)
    with concurrent.futures.ThreadPoolExecutor(shards) as pool:
        texts = list(pool.map(
            lambda shard: run_shard(card, beside[shard::shards], f"{what}.{shard}", tested, under,
                                    quiet),
            range(min(shards, len(beside)))))
    if alone:
        texts.append(run_shard(card, alone, f"{what}.alone", tested, under, quiet))
    return tested.tell(card, what), "".join(texts)


def findings(text):
    """A sanitizer's distinct reports, with their kernels and counts, the most frequent first."""
    counts, head = {}, ""
    for line in text.splitlines() + ["========="]:
        if not line.startswith("========="):
            continue
        line = re.sub(r"\+0x[0-9a-f]+.*", "", line[10:])
        place = re.match(r" +(at|and) +(.*)", line)
        if place and head:
            head, line = f"{head} at {place[2]}", ""
        if head and (line == "" or line[:1].isupper()):
            counts[head] = counts.get(head, 0) + 1
            head = ""
        if line[:1].isupper() and not re.match(
                r"COMPUTE-SANITIZER|.*SUMMARY|Target app|Error: (process|couldn)", line):
            head = line
    return [f"{count} {what}" for what, count in
            sorted(counts.items(), key=lambda pair: -pair[1])]
