#!/bin/bash
# Runs on a CUDA device what CI can only build and emulate.
#   bash tests/gpu.sh                           installs what is missing, builds, runs all parts
#   bash tests/gpu.sh --pack FILE.tar.xz        builds for any x86-64 processor, and packs the programs
#                                               and the libraries they need: for a machine that has
#                                               the CUDA toolkit with cuDNN (or Python's packages of
#                                               them) and nothing else
#   bash tests/gpu.sh --run WHAT [PART…]        runs a packed file or a build's folder
# Parts, each within ten minutes on an H200: tests; memcheck, racecheck and initcheck (together:
# sanitizer); train, a run of the program itself; benchmarks in fp32 and tf32; pytorch-fp32 and
# pytorch-tf32 (together: pytorch), the same steps beside PyTorch's where a python3 with torch is found
# ($SKYLINE_PYTHON names one).
# Every part says what ran, failed and was left out, with its reason. Exits 1 when something failed,
# 3 where no device answers.
set -uo pipefail
started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source train/install.sh

programs=(tests/cuda/cuda_tests train/skyline tests/benchmarks/cuda_step_benchmark)
all_parts=(tests sanitizer train fp32 tf32 pytorch)
shards=4            # of a sanitizer's tests, side by side
sanitizer_seconds=165  # for each tool
# What only the host can do: stop at a wrong label; and what asks for more memory than it then has.
host_only='*NamesTheRowOf*:*NeedsNoMemoryBesideTheLogits'
# What looks at, or takes, all of the card's memory: not beside other shards.
alone_only='*AsksTheDriverForNothing*:*ARefusalOfTheDriver*'

build_programs() {
  install_packages
  configure "$1" && build "$1" cuda_tests skyline cuda_step_benchmark
}

# pack FILE: programs, and the shared libraries that neither the C library nor CUDA brings.
pack() {
  local folder program library
  folder=$(mktemp -d)
  mkdir "$folder/lib"
  for program in "${programs[@]}"; do
    mkdir -p "$folder/$(dirname "$program")"
    strip -o "$folder/$program" "build/portable/$program"
    ldd "build/portable/$program"
  done | awk '$3 ~ /^\// && $3 !~ /\/(libc|libm|libdl|libpthread|librt|libcud[a-z]*)\.so/ { print $3 }' |
    sort -u | while read -r library; do cp -L "$library" "$folder/lib/"; done
  tar -C "$folder" -caf "$1" . && rm -rf "$folder"
  say "packed $(du -h "$1" | cut -f 1) into $1; there: bash tests/gpu.sh --run ${1##*/}"
}

# Where cuDNN 9 and cuBLAS lie: in Python's packages of this toolkit's major version, so that PyTorch
# and we run the same ones, or beside the toolkit.
library_path() {
  "$python" - "$("$toolkit/bin/nvcc" --version 2>/dev/null | grep -oP 'release \K[0-9]+')" 2>/dev/null <<'PYTHON'
import importlib.util, pathlib, sys
found = importlib.util.find_spec("nvidia")
folders = [folder for root in (found.submodule_search_locations if found else [])
           for folder in sorted(pathlib.Path(root).glob("*/lib"))]
if any(list(folder.glob(f"libcublasLt.so.{sys.argv[1] or '*'}")) for folder in folders):
    print("".join(f"{folder}:" for folder in folders), end="")
PYTHON
  printf '%s:%s' "$toolkit/lib64" "$toolkit/lib"
}

# ours PROGRAM ARGUMENT…: other programs keep their own libraries. One that hangs is ended.
ours() { LD_LIBRARY_PATH=$libraries timeout --foreground 540 "$folder/$1" "${@:2}"; }

left_out() { say "left out: $1: $2"; }

# summary WHAT LOG…: counts of GoogleTest's outcomes, and by name what failed, was skipped, or ended
# the program.
summary() {
  awk -v what="$1" '
    function name(line) { sub(/^\[[^]]*\] */, "", line); sub(/( \([0-9]+ ms\)|, where .*)$/, "", line); return line }
    FNR == 1 && running != "" { unfinished = unfinished "\n  not finished: " running; running = "" }
    /^\[ RUN      \] / { running = name($0) }
    /^\[       OK \] .* ms\)$/ { ++passed; running = "" }
    /^\[  FAILED  \] .* ms\)$/ && running != "" { ++failed; names = names "\n  failed: " name($0); running = "" }
    /^\[  SKIPPED \] .* ms\)$/ && running != "" { ++skipped; names = names "\n  skipped: " name($0); running = "" }
    END {
      if (running != "") unfinished = unfinished "\n  not finished: " running
      printf "%s: %d passed, %d failed, %d skipped%s%s\n", what, passed, failed, skipped, names, unfinished
    }' "${@:2}"
}

run_tests() {
  ours tests/cuda/cuda_tests --gtest_filter="-$host_only" >"$logs/tests.log" 2>&1
  local status=$?
  summary tests "$logs/tests.log"
  grep -q '^\[       OK' "$logs/tests.log" || status=1  # the runtime may miss what nvidia-smi sees
  ((status == 0)) || grep -v '^\[ RUN \|^\[       OK' "$logs/tests.log" | tail -n 60
  return "$status"
}

# sanitize TOOL: memcheck looks at the libraries' kernels, too; racecheck at ours; initcheck at all,
# whose writes it must see, but what it finds in the libraries' is theirs. The latter two leave out the
# networks, whose kernels the tests of ops run as well. Refused allocations are the tests' own doing.
sanitize() {
  local tool=$1 filter="-$host_only:$alone_only:*Paper*:*WhenParallel*" checker=("$sanitizer" --tool "$1")
  [[ -n $sanitizer ]] || { left_out "$tool" 'no compute-sanitizer in the toolkit'; return 0; }
  checker+=(--report-api-errors no)
  case $tool in
    memcheck) checker+=(--error-exitcode 9 --print-limit 20) ;;
    racecheck) filter+=':*Cuda*Tra*' checker+=(--error-exitcode 9 --print-limit 20 --kernel-regex kns=skyline) ;;
    initcheck) filter+=':*Cuda*Tra*' checker+=(--print-limit 5000) ;;
  esac
  local shard status=0 late=0 jobs=() result
  say "$tool: $(ours tests/cuda/cuda_tests --gtest_list_tests --gtest_filter="$filter" | grep -c '^  ') tests"
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OMP_NUM_THREADS=2 LD_LIBRARY_PATH=$libraries \
      timeout "$sanitizer_seconds" "${checker[@]}" "$folder/tests/cuda/cuda_tests" \
      --gtest_filter="$filter" >"$logs/$tool.$shard.log" 2>&1 &
    jobs+=($!)
  done
  for shard in "${!jobs[@]}"; do
    wait "${jobs[shard]}"
    result=$?
    if ((result == 124)); then
      late=$((late + 1))
    elif ((result != 0)); then
      status=1
      grep -v '^\[ RUN \|^\[       OK' "$logs/$tool.$shard.log" | head -n 60
    fi
    if [[ $tool == initcheck ]]; then
      grep -A 1 '^=* Uninitialized' "$logs/$tool.$shard.log" | grep 'skyline' && status=1
    elif grep -q 'ERROR SUMMARY: [1-9]\|RACECHECK SUMMARY: [1-9]' "$logs/$tool.$shard.log"; then
      status=1
    fi
  done
  summary "$tool" "$logs/$tool".*.log
  grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$logs/$tool".*.log | sort | uniq -c
  ((late == 0)) || left_out "$tool" "$late of $shards shards had not finished after $sanitizer_seconds s"
  return "$status"
}

# Runs of the program from the pool to the plan, the same losses under every allocator, the same plan
# foreseen without the card, and an interrupt that saves its work.
run_train() {
  local out=$logs/run status=0
  ours train/skyline train --model resnet20 --data shapes --epochs 1 --device cuda --out "$out" || status=1
  ours train/skyline train --model seq2seq --data numbers --batch-size 64 --learning-rate 0.002 --steps 200 \
    --policy upper-bound --device cuda --out "$out-seq2seq" || status=1
  ours train/skyline compare --model googlenet --data shapes --steps 6 --batch-size 32 --device cuda \
    --deterministic --allocators planned,best-fit-pool,caching,bfc,network-wise,cuda-async || status=1
  ours train/skyline dry-run --model resnet20 --device cuda --plan "$out/engines.json" || status=1
  LD_LIBRARY_PATH=$libraries timeout --foreground --preserve-status -s INT 10 "$folder/train/skyline" train --model resnet20 \
    --data shapes --epochs 1000 --device cuda --out "$out-interrupted"
  if (($? != 130)) || [[ ! -e $out-interrupted/checkpoints/latest ]]; then
    say 'an interrupt saved nothing'
    status=1
  fi
  return "$status"
}

# benchmark [OPTION…]
benchmark() {
  ours tests/benchmarks/cuda_step_benchmark --steps 10 "$@" &&
    { say "resnet50, batch 128: where a step's time goes"; ours tests/benchmarks/cuda_step_benchmark \
      resnet50 --batches 128 --allocators planned --profile "$@"; }
}

# compare_with_pytorch [OPTION…]
compare_with_pytorch() {
  "$python" -c 'import torch; assert torch.cuda.is_available()' 2>/dev/null ||
    { left_out pytorch "$python has no torch that sees the device"; return 0; }
  local program=$logs/ours
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" \
    "$folder/tests/benchmarks/cuda_step_benchmark" >"$program"
  chmod +x "$program"
  local step=("$python" -B tests/benchmarks/pytorch_step.py --ours "$program" --device cuda --steps 10 "$@")
  "${step[@]}" --batches 32,64,128 alexnet googlenet resnet50 inception-resnet &&
    "${step[@]}" --batches 32,64,128,256 seq2seq
}

run_part() {
  case $1 in
    tests) run_tests ;;
    memcheck | racecheck | initcheck) sanitize "$1" ;;
    train) run_train ;;
    fp32) benchmark ;;
    tf32) benchmark --tf32 ;;
    pytorch-fp32) compare_with_pytorch ;;
    pytorch-tf32) compare_with_pytorch --tf32 ;;
    *)
      say "unknown part '$1'; known are: tests memcheck racecheck initcheck sanitizer train fp32 tf32" \
        'benchmarks pytorch-fp32 pytorch-tf32 pytorch'
      exit 2
      ;;
  esac
}

# run WHAT PART…
run() {
  local folder=$1 part parts=() status=0 libraries toolkit sanitizer logs python=${SKYLINE_PYTHON:-python3}
  shift
  logs=$(mktemp -d)
  if [[ -f $folder ]]; then
    mkdir "$logs/packed"
    tar -C "$logs/packed" -xf "$folder" || return 1
    folder=$logs/packed
  fi
  for part in "$@"; do
    case $part in
      sanitizer) parts+=(memcheck racecheck initcheck) ;;
      benchmarks) parts+=(fp32 tf32) ;;
      pytorch) parts+=(pytorch-fp32 pytorch-tf32) ;;
      *) parts+=("$part") ;;
    esac
  done
  if ! command -v nvidia-smi >/dev/null || ! nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader; then
    say "no CUDA device answers: nothing was run"
    return 3
  fi
  toolkit=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  toolkit=$(dirname "$(dirname "$(readlink -f "$toolkit")")")
  sanitizer=$(PATH=$PATH:$toolkit/bin:$toolkit/compute-sanitizer command -v compute-sanitizer)
  libraries=$folder/lib:${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$(library_path)
  for part in "${parts[@]}"; do
    say "== $part"
    SECONDS=0
    run_part "$part" || { say "$part failed"; status=1; }
    say "$part took $SECONDS s"
  done
  say "logs: $logs"
  return "$status"
}

case "${1:-} $#" in
  ' 0') build_programs release && run build/release "${all_parts[@]}" ;;
  '--pack 2') build_programs portable && pack "$(cd "$started_in" && realpath "$2")" ;;
  '--run '[2-9]*)
    what=$(cd "$started_in" && realpath "$2")
    shift 2
    run "$what" "${@:-${all_parts[@]}}"
    ;;
  *)
    say "usage: bash tests/gpu.sh [--pack FILE.tar.xz | --run WHAT [PART…]]"
    exit 2
    ;;
esac
