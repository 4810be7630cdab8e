"""Runs that are killed, that nobody reads, or that the system gives too little.

    python3 tests/train/killed_runs.py build/release/train/skyline [--kills N] [--long]

Runs are killed with SIGHUP, and by closing the pipe that they print to, at random times; each is
resumed, perhaps killed again, and must end with the losses and weights of a run that was not
killed. --long: 30 kills of each kind, and many limits of addresses. Prints its seed.
"""

import argparse
import hashlib
import os
import pathlib
import random
import resource
import signal
import subprocess
import tempfile
import time

TRAIN = ['train', '--model', 'lenet', '--images', '512', '--batch-size', '16', '--epochs', '4',
         '--threads', '1', '--print-every', '1']  # and few test images: see main()
ENDS = {signal.SIGHUP: (129, -signal.SIGHUP), signal.SIGPIPE: (141, -signal.SIGPIPE)}


def bits(run):
    """What a run has computed: the losses of all steps, and the weights."""
    lines = (run / 'log.jsonl').read_text().splitlines()
    losses = [line.split('"loss":')[1].split(',')[0] for line in lines]
    weights = (run / 'checkpoints/latest/weights.safetensors').read_bytes()
    return losses, hashlib.sha256(weights).hexdigest()


def kill(words, kind, seconds):
    """Starts the program and kills it after so many seconds; returns its exit code."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if kind == signal.SIGPIPE:
        end = time.monotonic() + seconds
        while time.monotonic() < end and process.stdout.readline():
            pass
        process.stdout.close()
        return process.wait(timeout=300)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(kind)
        process.communicate(timeout=300)
    return process.returncode


def check_kills(program, folder, kills):
    whole = folder / 'whole'
    started = time.monotonic()
    subprocess.run([program, *TRAIN, '--output', whole], check=True, capture_output=True)
    seconds = time.monotonic() - started
    expected = bits(whole)
    for kind in ENDS:
        runs = killed = resumed = 0
        while killed < kills:
            run = folder / f'{kind.name}-{runs}'
            runs += 1
            words = [program, *TRAIN, '--output', run]
            code = None
            while code != 0:
                # A folder without arguments is none to resume: it was killed before it began.
                if (run / 'arguments.json').exists():
                    words = [program, 'train', '--resume', run, '--print-every', '1']
                    resumed += 1
                is_last = killed >= kills
                code = kill(words, kind, 300 if is_last else random.uniform(0, 1.1 * seconds))
                assert code == 0 or code in ENDS[kind], (kind, code)
                killed += code != 0
            assert bits(run) == expected, f'{run} has other bits than the whole run'
        print(f'{killed} kills by {kind.name}, resumed {resumed} times, {runs} runs: same bits',
              flush=True)


def check_closed_streams(program, folder):
    """Messages must not get into the files of a run, whichever streams are closed."""
    for number, closed in enumerate(['>&- 2>&-', '<&- 2>&-', '<&- >&- 2>&-', '2>&-', '>&-']):
        run = folder / f'closed-{number}'
        words = f'exec "$@" {closed}'
        subprocess.run(['sh', '-c', words, 'sh', program, *TRAIN, '--steps', '4', '--output', run],
                       check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        lines = (run / 'log.jsonl').read_text().splitlines()
        assert len(lines) == 4 and all(line.startswith('{"step":') for line in lines), closed
    print('closed streams: no message in a log', flush=True)


def check_threads(program, folder):
    """OpenMP ends a program without a word where the system gives no threads."""
    def few():
        resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))
        if os.geteuid() == 0:  # whom the limit does not bind
            os.setgid(65534)
            os.setuid(65534)

    words = [program, *TRAIN, '--threads', '4', '--output', folder / 'threads']
    result = subprocess.run(words, preexec_fn=few, capture_output=True, text=True)
    assert result.returncode == 1, result
    assert 'error: the system gives ' in result.stderr and '--threads' in result.stderr, result
    print('too few threads: named', flush=True)


def check_addresses(program, folder, limits):
    """oneDNN crashes where it gets no memory."""
    ends = {}
    for limit in limits:
        words = [program, 'train', '--model', 'seq2seq', '--data', 'numbers', '--pairs', '200',
                 '--val-pairs', '20', '--steps', '2', '--output', folder / f'addresses-{limit}']
        def few():
            resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
        result = subprocess.run(words, preexec_fn=few, capture_output=True, text=True)
        assert result.returncode in (0, 1), (limit, result)
        assert result.returncode == 0 or 'error: ' in result.stderr, (limit, result)
        ends[result.returncode] = ends.get(result.returncode, 0) + 1
    print(f'limits of addresses: {ends.get(0, 0)} runs end well, {ends.get(1, 0)} are refused', flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('program', type=pathlib.Path)
    parser.add_argument('--kills', type=int)
    parser.add_argument('--long', action='store_true',
                        default='SKYLINE_TEST_LONG' in os.environ)
    arguments = parser.parse_args()
    seed = int(os.environ.get('SKYLINE_TEST_SEED', random.randrange(1 << 31)))
    random.seed(seed)
    print('seed', seed, flush=True)
    program = arguments.program.resolve()
    kills = arguments.kills or (30 if arguments.long else 3)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        folder.chmod(0o777)
        few = folder / 'few.json'
        few.write_text('{"test_images": 44}')
        TRAIN.extend(['--config', few])
        check_closed_streams(program, folder)
        check_threads(program, folder)
        step = 10 if arguments.long else 130
        check_addresses(program, folder, [size << 20 for size in range(170, 700, step)])
        check_kills(program, folder, kills)


if __name__ == '__main__':
    main()
