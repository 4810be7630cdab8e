"""Times PyTorch's nn.LSTM on the CPU, forward and backward, for lstm_benchmark.

The case is lstm_benchmark's: one layer, 64 sentences, `units` features in and out, float32, inputs
that need gradients, a softmax loss over the units. Sentences have 25 words or, with --mixed, are
packed and have 1 to 50. Prints {"forward": s, "backward": s} of the fastest run.

    python3 pytorch_lstm.py --units 1024 --threads 2 [--mixed] [--runs 5]
"""

import argparse
import json
import time

import torch

SENTENCES = 64
EQUAL_LENGTH = 25


def sentence_lengths(mixed):
    if not mixed:
        return [EQUAL_LENGTH] * SENTENCES
    return [50 - k * 49 // 63 for k in range(SENTENCES)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=1024)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--mixed", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)

    lengths = sentence_lengths(options.mixed)
    layer = torch.nn.LSTM(options.units, options.units)
    if options.mixed:
        sentences = [torch.full((length, options.units), 0.1) for length in lengths]
        packed = torch.nn.utils.rnn.pack_sequence(sentences)
        words = packed.data.requires_grad_()
        x = torch.nn.utils.rnn.PackedSequence(words, packed.batch_sizes)
    else:
        x = torch.full((EQUAL_LENGTH, SENTENCES, options.units), 0.1, requires_grad=True)
    labels = torch.zeros(sum(lengths), dtype=torch.long)

    forward, backward = float("inf"), float("inf")
    for _ in range(options.runs + 1):
        layer.zero_grad(set_to_none=False)
        start = time.perf_counter()
        y, _ = layer(x)
        forward = min(forward, time.perf_counter() - start)
        outputs = y.data if options.mixed else y.reshape(-1, options.units)
        loss = torch.nn.functional.cross_entropy(outputs, labels)
        start = time.perf_counter()
        loss.backward()
        backward = min(backward, time.perf_counter() - start)
    print(json.dumps({"forward": forward, "backward": backward}))


if __name__ == "__main__":
    main()
