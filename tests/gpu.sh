#!/bin/bash
# Runs on a CUDA device what CI can only build and emulate: the CUDA tests, the same under
# compute-sanitizer, and the benchmarks.
#   bash tests/gpu.sh                 installs what is missing, builds, runs
#   bash tests/gpu.sh --pack FOLDER   builds, and puts the programs and the libraries they need into
#                                     FOLDER: for a machine that has the CUDA toolkit and nothing else
#   bash tests/gpu.sh --run FOLDER    runs a packed folder, or a build's
# Exits 1 when a test fails, 3 where no device answers.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source train/install.sh

build=build/release
programs=(tests/cuda/cuda_tests train/skyline tests/benchmarks/cuda_step_benchmark)

build_programs() {
  install_packages
  configure release && build release cuda_tests skyline cuda_step_benchmark
}

# pack FOLDER: programs, and the shared libraries that neither the C library nor CUDA brings.
pack() {
  local library
  mkdir -p "$1/lib"
  for program in "${programs[@]}"; do
    mkdir -p "$1/$(dirname "$program")"
    strip -o "$1/$program" "$build/$program"
    ldd "$build/$program"
  done | awk '$3 ~ /^\// && $3 !~ /\/(libc|libm|libdl|libpthread|librt|libcud[a-z]*)\.so/ { print $3 }' |
    sort -u | while read -r library; do cp -L "$library" "$1/lib/"; done
  say "packed $(du -sh "$1" | cut -f 1) into $1; there: bash tests/gpu.sh --run $1"
}

# Where cuDNN 9 and cuBLAS lie: beside the toolkit, or in Python's packages of them.
library_path() {
  local nvcc toolkit
  nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  toolkit=$(dirname "$(dirname "$(readlink -f "$nvcc")")")
  printf '%s:%s' "$toolkit/lib64" "$toolkit/lib"
  python3 - 2>/dev/null <<'PYTHON'
import importlib.util, pathlib
found = importlib.util.find_spec("nvidia")
for root in found.submodule_search_locations if found else []:
    for folder in sorted(pathlib.Path(root).glob("*/lib")):
        print(":" + str(folder), end="")
PYTHON
}

# run FOLDER
run() {
  local status=0 folder=$1
  [[ ! -d $folder/lib ]] || export LD_LIBRARY_PATH="$folder/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(library_path)"
  if ! command -v nvidia-smi >/dev/null || ! nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader; then
    say "no CUDA device answers: nothing was run"
    return 3
  fi
  "$folder/tests/cuda/cuda_tests" --gtest_brief=1 || status=1
  if command -v compute-sanitizer >/dev/null; then
    local tool
    for tool in memcheck racecheck initcheck; do
      say "compute-sanitizer --tool $tool"
      compute-sanitizer --tool "$tool" --error-exitcode 1 "$folder/tests/cuda/cuda_tests" \
        --gtest_brief=1 --gtest_filter='-*Paper*:*WhenParallel*' || status=1
    done
  fi
  "$folder/tests/benchmarks/cuda_step_benchmark" || status=1
  return "$status"
}

case "${1:-} $#" in
  ' 0') build_programs && run "$build" ;;
  '--pack 2') build_programs && pack "$2" ;;
  '--run 2') run "$2" ;;
  *)
    say "usage: bash tests/gpu.sh [--pack FOLDER | --run FOLDER]"
    exit 2
    ;;
esac
