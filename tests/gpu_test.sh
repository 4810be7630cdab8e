#!/bin/bash
# bash tests/gpu_test.sh BUILD: rehearses parts of tests/gpu.sh on the emulated device, then
# checks with stand-ins for the programs that a part which hangs ends in time, and that results stay
# when a part takes the whole script along. Exits with 1 if one of these fails, with 77 if the build
# has no emulated tests.
set -uo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build=$(realpath "$1")
for program in cuda_emulated_op_tests cuda_emulated_training_tests cuda_emulated_tests; do
  [[ -x $build/tests/cuda/$program ]] || { echo "left out: $program was not built"; exit 77; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0

# expect WHAT COMMAND…: counts a failure, and says what failed, unless COMMAND succeeds.
expect() {
  local what=$1
  shift
  "$@" || { echo "failed: $what"; failures=$((failures + 1)); }
}

# program PATH LINE: makes a program of one line.
program() {
  mkdir -p "$folder/$(dirname "$1")"
  printf '#!/bin/bash\n%s\n' "$2" >"$folder/$1"
  chmod +x "$folder/$1"
}

# gpu LOGS SECONDS ARGUMENT…
gpu() {
  SKYLINE_LOGS=$folder/$1 SKYLINE_PART_SECONDS=$2 PATH=$folder/bin:$PATH setsid --wait \
    bash "$root/tests/gpu.sh" "${@:3}" >"$folder/$1.out" 2>&1
}

gpu rehearsal 60 --rehearse "$build" memory lstm
expect 'the rehearsal succeeds' test $? = 0
for part in memory lstm; do
  expect "$part left its end" grep -q "^$part ended with 0 after" "$folder/rehearsal/parts.txt"
  expect "$part left its tests" grep -q "^$part: [1-9][0-9]* passed, 0 failed" "$folder/rehearsal/$part.txt"
done

program bin/nvidia-smi 'echo a stand-in for a card'
program tests/cuda/cuda_tests \
  'printf "S.\n  T\n[ RUN      ] S.T\n[       OK ] S.T (1 ms)\n"'
program train/skyline 'echo a long training; exec sleep 60'
program tests/benchmarks/cuda_step_benchmark \
  'echo a lost machine; kill -KILL -- "-$(ps -o pgid= -p $$ | tr -d " ")"'

SECONDS=0
gpu late 2 --run "$folder" train memory
expect 'a part that hangs fails the run' test $? = 1
expect 'a part that hangs ends in time' test "$SECONDS" -lt 30
expect 'it is said to be late' grep -q '^out of time' "$folder/late/train.txt"
expect 'its output stays' grep -q '^a long training' "$folder/late/train.txt"
expect 'it failed' grep -q '^train ended with 1' "$folder/late/parts.txt"
expect 'the next part runs' grep -q '^memory ended with 0' "$folder/late/parts.txt"

gpu dead 20 --run "$folder" memory profile-fp32 products
expect 'a script that was killed does not succeed' test $? != 0
expect 'results before it stay' grep -q '^memory: 1 passed' "$folder/dead/memory.txt"
expect 'the part before it ended' grep -q '^memory ended with 0' "$folder/dead/parts.txt"
expect 'the deadly part is named' test "$(tail -n 1 "$folder/dead/parts.txt")" = 'profile-fp32 began'

((failures == 0)) || tail -n 30 "$folder"/*.out
((failures == 0)) && echo 'tests/gpu.sh: all checks passed'
exit $((failures > 0))
