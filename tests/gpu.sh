#!/bin/bash
# Runs on a CUDA device what other machines can only build and emulate.
#   bash tests/gpu.sh                           installs what is missing, builds, runs all parts
#   bash tests/gpu.sh --pack FILE.tar.xz        builds for any x86-64 processor and packs the programs
#                                               with their libraries, for a machine that has only the
#                                               CUDA toolkit with cuDNN (or Python's packages of them)
#   bash tests/gpu.sh --run WHAT [PART…]        runs a packed file or a build's folder
#   bash tests/gpu.sh --rehearse BUILD [PART…]  runs the same parts with the programs of a build that
#                                               emulate the device, on the smallest networks and with
#                                               few of the tests
# Parts, in this order, so that a lost device or a deadline spares what matters most:
#   smoke            networks train from a plan, with the CPU's losses; what fails runs once more
#                    under memcheck
#   basics           tests of memory, products, convolutions, lstm and uploads (each also by name)
#   tests            all other tests, whole trainings among them, eight at a time
#   bits             the same losses and parameters under every allocator
#   graph            the same with ops launched as graphs
#   dry-run          a dry run foresees a run's reserved bytes and each of its requests
#   profile-tf32 profile-fp32   steps of resnet50 and resnet20 by op, with cuDNN's choice of engines;
#                    resnet50's with the fastest, too (together: profile)
#   pytorch-tf32 pytorch-fp32 pytorch-compile   the same steps in PyTorch, if a python3 with torch is
#                    found; $SKYLINE_PYTHON names one (together: pytorch)
#   memcheck         some tests of each kind under compute-sanitizer
#   figure-3         PGMO's figure 3: seconds and the largest batch, from the pool and planned
#   pytorch-networks the other networks beside PyTorch
#   train            a whole training, a text, and an interrupt
#   racecheck initcheck memcheck-all   the other tests under compute-sanitizer (with memcheck: sanitizer)
# No part uses managed memory.
# $SKYLINE_SECONDS is the deadline of all parts together (3600 by default). A part has its own limit
# within it, longer where there is time; $SKYLINE_PART_SECONDS lowers all of them. What does not fit is
# "left out: no time". $SKYLINE_RESULTS names the folder for results: parts.txt (which part began and
# how it ended), summary.txt (what is printed here) and logs.tar.gz (what programs printed). All are
# written after every part, so whatever ends the run costs one part.
# Exits with 1 if something failed, with 3 if no device answers or a program does not start.
set -uo pipefail
started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source train/install.sh

programs=(tests/cuda/cuda_tests train/skyline tests/benchmarks/cuda_step_benchmark)

# Builds by path: other programs have the same names.
build_programs() {
  packages+=("${test_packages[@]}" python3 xz-utils)
  install_packages
  configure "$1" && build "$1" "${programs[@]}"
}

# pack FILE: packs the programs and their shared libraries, except those of the C library and CUDA.
pack() {
  local folder program library
  folder=$(mktemp -d)
  mkdir "$folder/lib"
  for program in "${programs[@]}"; do
    mkdir -p "$folder/$(dirname "$program")"
    strip -o "$folder/$program" "build/portable/$program" && ldd "build/portable/$program" || exit 1
  done | awk '$3 ~ /^\// && $3 !~ /\/(libc|libm|libdl|libpthread|librt|libcud[a-z]*)\.so/ { print $3 }' |
    sort -u | while read -r library; do cp -L "$library" "$folder/lib/"; done &&
    XZ_OPT=-T2 tar -C "$folder" -caf "$1" .
  local status=$?
  rm -rf "$folder"
  ((status == 0)) || { say "nothing was packed"; return 1; }
  say "packed $(du -h "$1" | cut -f 1) into $1; there: bash tests/gpu.sh --run ${1##*/}"
}

# run ARGUMENT…: tests/gpu/parts.py runs the parts.
run() {
  local python
  python=$(command -v python3) || { say "python3 is missing: it runs the parts"; return 3; }
  "$python" -B tests/gpu/parts.py "$@"
}

# given PATH: the absolute path of what the caller named.
given() { (cd "$started_in" && realpath "$1"); }

case "${1:-} $#" in
  ' 0') build_programs release && run build/release ;;
  '--pack 2') build_programs portable && pack "$(given "$2")" ;;
  '--run '[2-9]* | '--run 1'[0-9]*) run "$(given "$2")" "${@:3}" ;;
  '--rehearse '[2-9]* | '--rehearse 1'[0-9]*)
    run "$(given "$2")/tests/cuda/emulated_programs" --rehearse "${@:3}"
    ;;
  *)
    say "usage: bash tests/gpu.sh [--pack FILE.tar.xz | --run WHAT [PART…] | --rehearse BUILD [PART…]]"
    exit 2
    ;;
esac
