#!/bin/bash
# bash tests/gpu_test.sh BUILD: rehearses the parts of tests/gpu.sh on the emulated device. Then, with
# stand-ins for our programs, PyTorch and compute-sanitizer, checks that a part which hangs ends in
# time, that results stay when a part takes the whole script along, and which findings fail a part.
# Exits with 1 if one of these fails, with 77 if the build has no emulated programs.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "$1")
for program in cuda_emulated_{op,training}_tests cuda_emulated_tests \
  emulated_programs/{train/skyline,tests/benchmarks/cuda_step_benchmark}; do
  [[ -x $build/tests/cuda/$program ]] || { echo "left out: $program was not built"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=()

# expect WHAT COMMAND…: notes WHAT as a failure unless COMMAND succeeds.
expect() {
  local what=$1
  shift
  "$@" || failed+=("$what")
}

# ended LOGS PART STATUS, says LOGS PART PATTERN, says_not LOGS PART PATTERN: expect what a part left.
ended() { expect "$1: $2 ended with $3" grep -q "^$2 ended with $3 after" "$folder/$1/parts.txt"; }
says() { expect "$1: $2 says '$3'" grep -q -- "$3" "$folder/$1/$2.txt"; }
says_not() { expect "$1: $2 does not say '$3'" test -z "$(grep -- "$3" "$folder/$1/$2.txt")"; }

# program PATH TEXT: makes a program.
program() {
  mkdir -p "$folder/$(dirname "$1")"
  printf '#!/bin/bash\n%s\n' "$2" >"$folder/$1"
  chmod +x "$folder/$1"
}

# gpu LOGS SECONDS ARGUMENT…
gpu() {
  SKYLINE_LOGS=$folder/$1 SKYLINE_PART_SECONDS=$2 SKYLINE_PYTHON=$folder/bin/torch PATH=$folder/bin:$PATH \
    setsid --wait bash "$root/tests/gpu.sh" "${@:3}" >"$folder/$1.out" 2>&1
}

program bin/torch 'exit 1'
parts=(memory lstm profile-fp32 pytorch-fp32 tests train tf32)
gpu rehearsal 60 --rehearse "$build" "${parts[@]}"
expect 'the rehearsal succeeds' test $? = 0
for part in "${parts[@]}"; do ended rehearsal "$part" 0; done
for part in memory lstm tests; do says rehearsal "$part" "^$part: [1-9][0-9]* passed, 0 failed"; done
for part in profile-fp32 tf32; do says rehearsal "$part" '^planned .* ms '; done
says rehearsal pytorch-fp32 '^left out: pytorch: .* no torch'

kill_script='kill -KILL -- "-$(ps -o sid= -p $$ | tr -d " ")"'
program bin/nvidia-smi 'echo a stand-in for a card'
program tests/cuda/cuda_tests 'printf "S.\n  T\n[ RUN      ] S.T\n[       OK ] S.T (1 ms)\n"'
program train/skyline 'echo a long training; exec sleep 60'
program tests/benchmarks/cuda_step_benchmark "echo a lost machine; $kill_script"

SECONDS=0
gpu late 2 --run "$folder" train memory
expect 'a part that hangs fails the run' test $? = 1
expect 'a part that hangs ends in time' test "$SECONDS" -lt 30
says late train '^out of time'
says late train '^a long training'
ended late train 1
ended late memory 0

gpu dead 20 --run "$folder" memory profile-fp32 products
expect 'a script that was killed does not succeed' test $? != 0
says dead memory '^memory: 1 passed'
ended dead memory 0
expect 'the deadly part is named' test "$(tail -n 1 "$folder/dead/parts.txt")" = 'profile-fp32 began'

# PyTorch's part: one program takes turns with ours, seq2seq after the image networks.
program tests/benchmarks/cuda_step_benchmark 'echo "our steps: $*"'
torch() { program bin/torch "[[ \$1 != -c ]] || exit 0; [[ \$1 == -B ]] || exit 1; \"\$4\" --serve; echo \"steps: \$*\"; $1"; }
torch ''
gpu torch 20 --run "$folder" pytorch
expect 'steps beside PyTorch succeed' test $? = 0
says torch pytorch-fp32 '^our steps: --serve'
says torch pytorch-fp32 '^steps: .* seq2seq'
says_not torch pytorch-fp32 '^steps: .*--tf32'
says torch pytorch-tf32 '^steps: .*--tf32'
torch '[[ $* == *seq2seq* ]] || exit 3'
gpu torch-dies 20 --run "$folder" pytorch-fp32
ended torch-dies pytorch-fp32 1
says torch-dies pytorch-fp32 '^steps: .* seq2seq'
torch 'exec sleep 60'
gpu torch-hangs 2 --run "$folder" pytorch-tf32 memory
says torch-hangs pytorch-tf32 '^out of time'
ended torch-hangs pytorch-tf32 1
ended torch-hangs memory 0

# The sanitizer runs the program that it is given, then does what a case plants.
program train/skyline 'echo a training'
# sanitized LOGS SECONDS CASE PART…
sanitized() {
  program bin/compute-sanitizer 'tool=$2
    finding() { printf "========= Invalid read of 4 bytes\n=========     at %s+0x10\n=========\n" "$1"; }
    arguments=("$@")
    while [[ $1 != /* ]]; do shift; done
    "$@"
    set -- "${arguments[@]}"
    '"$3"
  gpu "$1" "$2" --run "$folder" "${@:4}"
}
in_tf32='[[ $* != *--tf32* ]] ||'

sanitized clean 20 '' sanitizer
expect 'no findings are a success' test $? = 0
for tool in memcheck racecheck initcheck; do says clean "$tool" "^$tool: 4 passed, 0 failed"; done
sanitized ours 20 '[[ $GTEST_SHARD_INDEX != 2 ]] || finding skyline::sum' sanitizer
for tool in memcheck racecheck initcheck; do
  ended ours "$tool" 1
  says ours "$tool" '1 Invalid read of 4 bytes at skyline::sum$'
done
sanitized theirs 20 '[[ $tool != initcheck ]] || finding library::copy' initcheck
ended theirs initcheck 0
sanitized tests-hang 2 '[[ $GTEST_SHARD_INDEX != 2 ]] || { finding skyline::sum; exec sleep 60; }' racecheck memory
says tests-hang racecheck '^left out: racecheck: 1 of 4 shards had not finished'
says tests-hang racecheck '1 Invalid read of 4 bytes at skyline::sum$'
ended tests-hang racecheck 1
ended tests-hang memory 0
sanitized dies 20 "[[ \$tool != racecheck ]] || $kill_script" sanitizer
ended dies memcheck 0
expect 'the deadly tool is named' test "$(tail -n 1 "$folder/dies/parts.txt")" = 'racecheck began'

# Findings of memcheck in TF32 outside our kernels are believed if best-fit-pool has them, too.
sanitized mapped 20 '[[ $* != *--tf32*planned* ]] || finding library::copy' memcheck
ended mapped memcheck 0
says mapped memcheck '^memcheck in TF32 with planned:'
says_not mapped memcheck 'with best-fit-pool:'
sanitized plain 20 "$in_tf32 finding library::copy" memcheck
ended plain memcheck 1
says plain memcheck '^memcheck in TF32 with best-fit-pool:'
sanitized ours-in-tf32 20 "$in_tf32 finding skyline::sum" memcheck
ended ours-in-tf32 memcheck 1
says_not ours-in-tf32 memcheck 'with best-fit-pool:'
sanitized dies-in-tf32 20 "$in_tf32 exit 7" memcheck
ended dies-in-tf32 memcheck 1
says dies-in-tf32 memcheck '^memcheck in TF32 with planned ended with 7'

if ((${#failed[@]} > 0)); then
  tail -n 30 "$folder"/*.out
  printf 'failed: %s\n' "${failed[@]}"
  exit 1
fi
echo 'tests/gpu.sh: all checks passed'
