#!/bin/bash
# Installs what is missing, builds Skyline, trains lenet on drawn shapes, and compares allocators on
# the same training:
#   bash train/demo.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
source train/install.sh

skyline=build/release/train/skyline
run=runs/demo-$(date +%Y%m%d-%H%M%S)

install_packages
# Tests and, without a card, CUDA kernels would only add build time. tests/run.sh turns both on again.
cuda=OFF
if has_card; then cuda=ON; fi
configure release -DSKYLINE_TESTS=OFF -DSKYLINE_CUDA=$cuda
build release skyline

say ''
say "--- lenet learns ten drawn shapes: one warm-up step on the pool, then the planned arena ---"
"$skyline" train --model lenet --data shapes --epochs 3 --output "$run"
say ''
say "--- the same training under three allocators ---"
"$skyline" compare --model lenet --data shapes --steps 20 \
  --allocators network-wise,best-fit-pool,planned --report "$run/compare.html"
say ''
say "open in a browser: $PWD/$run/report.html and $PWD/$run/compare.html"
say "for commands such as skyline --help: export PATH=$PWD/build/release/train:\$PATH"
