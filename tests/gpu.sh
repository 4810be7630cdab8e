#!/bin/bash
# Runs on a CUDA device what other machines can only build and emulate.
#   bash tests/gpu.sh                           installs what is missing, builds, runs all parts
#   bash tests/gpu.sh --pack FILE.tar.xz        builds for any x86-64 processor and packs the programs
#                                               with their libraries, for a machine that has only the
#                                               CUDA toolkit with cuDNN (or Python's packages of them)
#   bash tests/gpu.sh --run WHAT [PART…]        runs a packed file or a build's folder
#   bash tests/gpu.sh --rehearse BUILD [PART…]  runs the same parts with the programs of a build that
#                                               emulate the device, on the smallest networks and with
#                                               few of the other tests
# Parts, in this order, so that a lost device spares what matters most:
#   memory products convolutions lstm uploads   the tests of one subject each (together: basics)
#   profile-fp32 profile-tf32                   a step of resnet50 by op (together: profile)
#   pytorch-fp32 pytorch-tf32                   the same steps in PyTorch, if a python3 with torch is
#                                               found; $SKYLINE_PYTHON names one (together: pytorch)
#   tests                                       all other tests, whole trainings among them
#   train                                       the program itself
#   fp32 tf32                                   steps of all networks (together: benchmarks)
#   memcheck racecheck initcheck                compute-sanitizer (together: sanitizer)
# No part uses managed memory.
# Each part ends within its seconds, see part_limits; $SKYLINE_PART_SECONDS lowers all limits. It prints
# what ran, what failed, and what was left out and why. $SKYLINE_LOGS names the folder for logs: what
# part P printed is in P.txt, and parts.txt has a line for each part that began and one for each that
# ended, so that results stay when a later part takes the machine along. Exits with 1 if something
# failed, with 3 if no device answers.
set -uo pipefail
started_in=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source train/install.sh

programs=(tests/cuda/cuda_tests train/skyline tests/benchmarks/cuda_step_benchmark)
all_parts=(memory products convolutions lstm uploads profile-fp32 profile-tf32 pytorch-fp32 pytorch-tf32
  tests train fp32 tf32 memcheck racecheck initcheck)
declare -A part_limits=([memory]=60 [products]=120 [convolutions]=240 [lstm]=120 [uploads]=120
  [profile-fp32]=120 [profile-tf32]=120 [pytorch-fp32]=540 [pytorch-tf32]=540 [tests]=540 [train]=540
  [fp32]=540 [tf32]=540 [memcheck]=540 [racecheck]=240 [initcheck]=240)
# Which tests belong to a part; the part "tests" has the others.
declare -A subjects=([memory]='*DeviceMemory*' [products]='*Linear*' [convolutions]='*Conv2d*'
  [lstm]='*Lstm*' [uploads]='*PrefetchedInputs*:*AsksTheDriver*')
tests_seconds=240      # per run of the tests, in case one of them hangs
shards=4               # parallel processes of a sanitizer's tests
sanitizer_seconds=165  # per tool
# This test asks for more memory than the card then has.
too_large='*NeedsNoMemoryBesideTheLogits'
# These tests look at, or take, all of the card's memory, so they cannot run beside other shards.
alone_only='*AsksTheDriverForNothing*:*ARefusalOfTheDriver*'

# What trainings and benchmarks run.
networks=(alexnet googlenet resnet50 inception-resnet seq2seq) timed=(--steps 10) batches=()
profiled=resnet50 profiled_batch=128
trained=resnet20 length=(--epochs 1) text=(--data numbers --steps 200 --batch-size 64)
engines= interrupt_after=10  # engines: by default those of the training
compared=googlenet compared_batch=32
other_tests='*'
rehearses=0

# The same, for an emulated device, which knows no engines.
rehearse_small() {
  local sentences
  sentences=$(mktemp)
  trap "rm -f '$sentences'" EXIT
  printf 'one two\tun deux\ntwo three\tdeux trois\n' >"$sentences"
  rehearses=1
  networks=(mlp) timed=(--steps 1 --peak-extent 64) batches=(--batches 4)
  profiled=mlp profiled_batch=4
  trained=mlp length=(--steps 3 --batch-size 4) engines=tests/benchmarks/h200.json
  text=(--data "$sentences" --val-data "$sentences" --steps 1 --batch-size 2 --units 8)
  interrupt_after=3
  compared=mlp compared_batch=4
  other_tests='*Relu*'
}

build_programs() {
  packages+=("${test_packages[@]}")
  install_packages
  configure "$1" && build "$1" cuda_tests skyline cuda_step_benchmark
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
    tar -C "$folder" -caf "$1" .
  local status=$?
  rm -rf "$folder"
  ((status == 0)) || { say "nothing was packed"; return 1; }
  say "packed $(du -h "$1" | cut -f 1) into $1; there: bash tests/gpu.sh --run ${1##*/}"
}

# Prints the library folders of Python's CUDA packages, each with a colon, if they have this toolkit's
# major version. PyTorch and Skyline then use the same cuBLAS and cuDNN.
python_libraries() {
  "$python" - "$("$toolkit/bin/nvcc" --version 2>/dev/null | grep -oP 'release \K[0-9]+')" 2>/dev/null <<'PYTHON'
import importlib.util, pathlib, sys
found = importlib.util.find_spec("nvidia")
folders = [folder for root in (found.submodule_search_locations if found else [])
           for folder in sorted(pathlib.Path(root).glob("*/lib"))]
if any(list(folder.glob(f"libcublasLt.so.{sys.argv[1] or '*'}")) for folder in folders):
    print("".join(f"{folder}:" for folder in folders), end="")
PYTHON
}

# limited COMMAND…: stops COMMAND, or does not start it, when the part's time is over.
limited() {
  local left=$((part_seconds - SECONDS)) status=124
  if ((left > 0)); then
    timeout --foreground -k 10 "$left" "$@"
    status=$?
  fi
  ((SECONDS < part_seconds)) || say 'out of time'
  return "$status"
}

# ours PROGRAM ARGUMENT…: runs one of our programs with the libraries; others keep their own.
ours() { limited env LD_LIBRARY_PATH="$libraries" "$folder/$1" "${@:2}"; }

left_out() { say "left out: $1: $2"; }

# summary WHAT LOG…: counts GoogleTest's outcomes and names the tests that failed, were skipped, or
# ended the program.
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

# messages LOG: GoogleTest's output without the lines that only count or enclose tests.
messages() { grep -v '^$\|^Running main\|^\[ RUN \|^\[       OK\|^\[[-=]*\]\|^Note: \|^=' "$1"; }

# findings LOG…: a sanitizer's distinct reports, with their kernels and counts.
findings() {
  awk '
    function flush() { if (head != "") print head; head = "" }
    /^=========/ { line = substr($0, 11); sub(/\+0x[0-9a-f]+.*/, "", line) }
    /^========= [A-Z]/ { flush() }
    /^========= [A-Z]/ && line !~ /^COMPUTE-SANITIZER|SUMMARY|^Target app|^Error: (process|couldn)/ { head = line }
    /^=========  +(at|and) / && head != "" { sub(/^ +/, "", line); print head " " line; head = "" }
    /^=========$/ { flush() }
    END { flush() }' "$@" | sort | uniq -c | sort -rn
}

# until_loss LOG: prints LOG up to the end of the first test that lost the device or ended the program,
# then "lost: TEST".
until_loss() {
  awk '
    { print }
    /^\[ RUN      \] / { running = $4 }
    /illegal memory access|misaligned address|launch failure|device-side assert/ { lost = running }
    /illegal instruction|hardware stack error|invalid program counter|address space/ { lost = running }
    /^\[       OK|^\[  FAILED|^\[  SKIPPED/ { running = ""; if (lost != "") exit }
    END { if (running != "") lost = running; if (lost != "") print "lost: " lost }' "$1"
}

# run_tests PART FILTER: a lost device stays lost for the process, so the tests after that one run in a
# new process.
run_tests() {
  local log="$logs/$1" filter=$2 status=0 run=0 names lost end=$part_seconds
  local part_seconds=$end
  names=$(ours tests/cuda/cuda_tests --gtest_list_tests --gtest_filter="$filter" |
    awk '/^[^ ]/ { suite = $1 } /^  / { print suite $1 }')
  while ((run < 10 && SECONDS < end)) && [[ -n $filter ]]; do
    part_seconds=$((SECONDS + tests_seconds < end ? SECONDS + tests_seconds : end))
    ours tests/cuda/cuda_tests --gtest_filter="$filter" >"$log.$run.out" 2>&1 || status=1
    until_loss "$log.$run.out" >"$log.$run.log"
    lost=$(sed -n 's/^lost: //p' "$log.$run.log")
    filter=$(awk -v lost="$lost" 'found { print } $0 == lost { found = 1 }' <<<"$names" | paste -s -d :)
    run=$((run + 1))
  done
  summary "$1" "$log".*.log
  grep -q '^\[       OK' "$log".*.log || status=1  # the runtime may not see the device that nvidia-smi sees
  ((status == 0)) || for ((run = 0; run < 10; ++run)); do
    [[ ! -e $log.$run.log ]] || messages "$log.$run.log" | tail -n 40
  done
  return "$status"
}

# sanitize TOOL: memcheck checks all kernels, racecheck only ours. initcheck must see the writes of all
# kernels, but only findings in ours count. racecheck and initcheck leave out the networks, because the
# tests of ops run the same kernels. Refused allocations are intended, so API errors are not reported.
sanitize() {
  local tool=$1 filter="-$too_large:$alone_only:*Paper*:*WhenParallel*" checker=("$sanitizer" --tool "$1")
  local seconds=$((sanitizer_seconds < part_seconds ? sanitizer_seconds : part_seconds))
  [[ -n $sanitizer ]] || { left_out "$tool" 'no compute-sanitizer in the toolkit'; return 0; }
  checker+=(--report-api-errors no)
  case $tool in
    # After an error, other kernels still run.
    memcheck) checker+=(--error-exitcode 9 --print-limit 20 --destroy-on-device-error kernel) ;;
    racecheck) filter+=':*Cuda*Tra*' checker+=(--error-exitcode 9 --print-limit 20 --kernel-regex kns=skyline) ;;
    initcheck) filter+=':*Cuda*Tra*' checker+=(--print-limit 5000) ;;
  esac
  local shard status=0 late=0 jobs=() result found
  say "$tool: $(ours tests/cuda/cuda_tests --gtest_list_tests --gtest_filter="$filter" | grep -c '^  ') tests"
  for ((shard = 0; shard < shards; ++shard)); do
    GTEST_TOTAL_SHARDS=$shards GTEST_SHARD_INDEX=$shard OMP_NUM_THREADS=2 LD_LIBRARY_PATH=$libraries \
      timeout -k 10 "$seconds" "${checker[@]}" "$folder/tests/cuda/cuda_tests" \
      --gtest_filter="$filter" >"$logs/$tool.$shard.log" 2>&1 &
    jobs+=($!)
  done
  for shard in "${!jobs[@]}"; do
    wait "${jobs[shard]}"
    result=$?
    if ((result == 124 || result == 137)); then
      late=$((late + 1))
    elif ((result != 0)); then
      status=1
      messages "$logs/$tool.$shard.log" | head -n 60
    fi
  done
  summary "$tool" "$logs/$tool".*.log
  grep -q '^\[       OK' "$logs/$tool".*.log || status=1
  found=$(findings "$logs/$tool".*.log)  # also of shards that did not finish
  [[ $tool != initcheck ]] || found=$(grep skyline <<<"$found")
  [[ -z $found ]] || { status=1; head -n 40 <<<"$found"; }
  grep -h 'ERROR SUMMARY\|RACECHECK SUMMARY' "$logs/$tool".*.log | sort | uniq -c
  ((late == 0)) || left_out "$tool" "$late of $shards shards had not finished after $seconds s"
  [[ $tool != memcheck ]] || check_tf32 || status=1
  return "$status"
}

# check_tf32: runs memcheck over steps in TF32. Library kernels that copy in bulk are reported where a
# tensor spans pieces of a mapped range, although they are right there: findings outside our kernels
# count only if they come again in one plain range.
check_tf32() {
  local allocator found log status
  for allocator in planned best-fit-pool; do
    log=$logs/memcheck.tf32.$allocator.log
    limited env LD_LIBRARY_PATH="$libraries" "$sanitizer" --tool memcheck --report-api-errors no --print-limit 20 \
      "$folder/train/skyline" train --model resnet20 --data shapes --steps 3 --batch-size 16 --device cuda --tf32 \
      --allocator "$allocator" --output "$logs/memcheck-$allocator" >"$log" 2>&1
    status=$?
    found=$(findings "$log")
    if [[ -z $found ]]; then
      ((status == 0)) || say "memcheck in TF32 with $allocator ended with $status"
      return $((status != 0))
    fi
    say "memcheck in TF32 with $allocator:"
    head -n 20 <<<"$found"
    ! grep -q skyline <<<"$found" || return 1
  done
  return 1
}

# Trains from the pool to the plan, compares losses under every allocator, predicts the plan without
# using the card, and checks that an interrupt saves its work.
run_train() {
  local out status=0 longest
  out=$(mktemp -d "$logs/train.XXXX")/run
  ours train/skyline train --model "$trained" --data shapes "${length[@]}" --device cuda --output "$out" || status=1
  ours train/skyline train --model seq2seq "${text[@]}" --learning-rate 0.002 --policy upper-bound \
    --device cuda --output "$out-seq2seq" || status=1
  ours train/skyline compare --model "$compared" --data shapes --steps 6 --batch-size "$compared_batch" --device cuda \
    --deterministic --allocators planned,best-fit-pool,caching,bfc,network-wise,cuda-async || status=1
  ours train/skyline dry-run --model "$trained" --device cuda --engines "${engines:-$out/engines.json}" || status=1
  longest=$((part_seconds - SECONDS))
  ((longest < interrupt_after)) || longest=$interrupt_after
  ((longest > 0)) || { say 'out of time'; return 1; }
  LD_LIBRARY_PATH=$libraries timeout --foreground --preserve-status -s INT -k 30 "$longest" "$folder/train/skyline" \
    train --model "$trained" --data shapes --epochs 1000 --device cuda --output "$out-interrupted"
  if (($? != 130)) || [[ ! -e $out-interrupted/checkpoints/latest ]]; then
    say 'the interrupt saved nothing'
    status=1
  fi
  return "$status"
}

# benchmark [OPTION…]: one process per network, so that a lost device spares the other networks.
benchmark() {
  local model status=0
  for model in "${networks[@]}"; do
    ours tests/benchmarks/cuda_step_benchmark "$model" "${timed[@]}" "${batches[@]}" --prefetch --recompute 4 \
      --fused-update "$@" || status=1
  done
  return "$status"
}

# profile [OPTION…]: the time of a step by op.
profile() {
  ours tests/benchmarks/cuda_step_benchmark "$profiled" "${timed[@]}" --batches "$profiled_batch" \
    --allocators planned --profile "$@"
}

# compare_with_pytorch [OPTION…]
compare_with_pytorch() {
  "$python" -c 'import torch, torchvision; assert torch.cuda.is_available()' 2>/dev/null ||
    { left_out pytorch "$python has no torch and torchvision that see the device"; return 0; }
  local program=$logs/ours status=0
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$libraries" \
    "$folder/tests/benchmarks/cuda_step_benchmark" >"$program"
  chmod +x "$program"
  local step=("$python" -B tests/benchmarks/pytorch/pytorch_step.py --ours "$program" --device cuda --steps 3 "$@")
  limited "${step[@]}" --our-flags='--recompute 4 --fused-update --prefetch' --batches 32,64,128 \
    alexnet googlenet resnet50 inception-resnet || status=1
  limited "${step[@]}" --batches 32,64,128,256 seq2seq || status=1
  return "$status"
}

run_part() {
  local others
  case $1 in
    memory | products | convolutions | lstm | uploads) run_tests "$1" "${subjects[$1]}:-$too_large" ;;
    tests)
      others=$(IFS=:; echo "${subjects[*]}")
      run_tests tests "$other_tests:-$too_large:$others"
      ;;
    memcheck | racecheck | initcheck) sanitize "$1" ;;
    train) run_train ;;
    profile-fp32) profile ;;
    profile-tf32) profile --tf32 ;;
    fp32) benchmark ;;
    tf32) benchmark --tf32 ;;
    pytorch-fp32) compare_with_pytorch ;;
    pytorch-tf32) compare_with_pytorch --tf32 ;;
  esac
}

# timed_part PART: runs a part and leaves its results behind. A part may end its shell.
timed_part() {
  local part_seconds=${part_limits[$1]} status
  ((part_seconds <= ${SKYLINE_PART_SECONDS:-540})) || part_seconds=$SKYLINE_PART_SECONDS
  say "== $1"
  echo "$1 began" >>"$logs/parts.txt"
  SECONDS=0
  (run_part "$1") 2>&1 | tee "$logs/$1.txt"
  status=${PIPESTATUS[0]}
  ((status == 0)) || say "$1 failed"
  say "$1 took $SECONDS s"
  echo "$1 ended with $status after $SECONDS s" >>"$logs/parts.txt"
  return "$status"
}

# run WHAT PART…
run() {
  local folder=$1 part parts=() status=0 libraries toolkit sanitizer logs python=${SKYLINE_PYTHON:-python3}
  for part in "${@:2}"; do
    case $part in
      basics) parts+=(memory products convolutions lstm uploads) ;;
      profile) parts+=(profile-fp32 profile-tf32) ;;
      sanitizer) parts+=(memcheck racecheck initcheck) ;;
      benchmarks) parts+=(fp32 tf32) ;;
      pytorch) parts+=(pytorch-fp32 pytorch-tf32) ;;
      *)
        [[ " ${all_parts[*]} " == *" $part "* ]] ||
          { say "unknown part '$part'; known are: ${all_parts[*]}; basics profile pytorch benchmarks sanitizer"; return 2; }
        parts+=("$part")
        ;;
    esac
  done
  if ((!rehearses)) && { ! command -v nvidia-smi >/dev/null ||
    ! nvidia-smi --query-gpu=name,driver_version,memory.free --format=csv,noheader; }; then
    say "no CUDA device answers: nothing was run"
    return 3
  fi
  logs=${SKYLINE_LOGS:-$(mktemp -d)}
  mkdir -p "$logs" || return 1
  if [[ -f $folder ]]; then
    packed=$(mktemp -d)
    trap 'rm -rf "$packed"' EXIT
    # tar needs the xz program, which may be missing; Python brings its own.
    tar -C "$packed" -xf "$folder" || "$python" -m tarfile -e "$folder" "$packed" || return 1
    folder=$packed
  fi
  toolkit=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
  toolkit=$(dirname "$(dirname "$(readlink -f "$toolkit")")")
  sanitizer=$(PATH=$PATH:$toolkit/bin:$toolkit/compute-sanitizer command -v compute-sanitizer)
  libraries=$folder/lib:$(python_libraries)${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$toolkit/lib64:$toolkit/lib
  for part in "${parts[@]}"; do
    timed_part "$part" || status=1
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
  '--rehearse '[2-9]*)
    what=$(cd "$started_in" && realpath "$2")/tests/cuda/emulated_programs
    shift 2
    rehearse_small
    run "$what" "${@:-${all_parts[@]}}"
    ;;
  *)
    say "usage: bash tests/gpu.sh [--pack FILE.tar.xz | --run WHAT [PART…] | --rehearse BUILD [PART…]]"
    exit 2
    ;;
esac
