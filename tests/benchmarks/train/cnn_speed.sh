#!/bin/bash
# The speed of the paper's CNNs on this machine, all of it: dry runs and plans, a step under four
# allocators, against bare primitives with a profile by op, and against PyTorch where a python3 with
# torch is found ($SKYLINE_PYTHON names one). About six minutes on two cores.
#   bash tests/benchmarks/train/cnn_speed.sh FOLDER    FOLDER holds the benchmark programs:
#                                                build/release/tests/benchmarks
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
programs=${1:?"usage: cnn_speed.sh FOLDER, where the benchmark programs are"}
python=${SKYLINE_PYTHON:-python3}

heading() { printf '\n== %s\n' "$1"; }

heading "dry runs and plans"
"$programs/dry_run_benchmark"
heading "a training step under four allocators"
"$programs/cnn_step_benchmark"
heading "against bare primitives"
"$programs/bare_step_benchmark" alexnet googlenet resnet50 inception-resnet
heading "against PyTorch"
if "$python" -c 'import torch' 2>/dev/null; then
  PYTHONDONTWRITEBYTECODE=1 "$python" "$here/pytorch_step.py" --ours "$programs/cnn_step_benchmark"
else
  echo "left out: $python has no torch (SKYLINE_PYTHON may name another python3)"
fi
