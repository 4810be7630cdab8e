#!/bin/bash
# Installs what is missing, builds, and runs every test that this machine can run:
#   bash tests/run.sh           release, then address + undefined-behaviour and thread sanitizers
#   bash tests/run.sh --quick   release only
#   bash tests/run.sh --long    all random cases and the tests of training under sanitizers, too,
#                               with a fresh seed, and each fuzzer for minutes; for nights.
#                               SKYLINE_TEST_SEED=N repeats the run that printed "seed N"
# The last line is "N passed, N failed, N skipped", summed over all builds. Exits 1 if a test failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source train/install.sh
packages+=("${test_packages[@]}" chromium clang-format)  # chromium opens the pages that tests check
packages+=(pybind11-dev python3-dev python3-matplotlib python3-numpy python3-pandas)  # the Python package
packages+=(clang-19 libclang-rt-19-dev libomp-19-dev)  # sanitizers: a second compiler, in half of g++'s time
packages+=(libopenmpi-dev openmpi-bin)  # runs of several processes
packages+=(zsh)  # completes words

passed=0 failed=0 skipped=0
test_timeout=600  # seconds
sanitized=sanitized_tests
fuzz_seconds=0

# skipped_tests FILE…: prints "NAME: REASON" for each skipped or disabled test of JUnit files.
skipped_tests() {
  awk '
    /<testcase / {
      name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name)
      suite = $0; sub(/.* classname="/, "", suite); sub(/".*/, "", suite)
      if (FILENAME ~ /\/programs\//) name = suite "." name
    }
    /<skipped|status="disabled"/ { is_skipped = 1 }
    after_skip { reason = $0; after_skip = 0 }
    /: Skipped$/ { after_skip = 1 }
    /<skipped message=".*&#x0A;/ { reason = $0; sub(/.*&#x0A;/, "", reason); sub(/".*/, "", reason) }
    /<\/testcase>/ {
      if (is_skipped) print name ": " (reason == "" ? "no reason given" : reason)
      is_skipped = 0; reason = ""
    }' "$@"
}

# processor: its name and the widest vectors that kernels may use.
processor() {
  local widest=none flag limit=${ONEDNN_MAX_CPU_ISA:-}
  for flag in avx2 avx512bw; do
    [[ $flag == avx512bw && ${limit,,} == avx2* ]] || ! grep -qw "$flag" /proc/cpuinfo || widest=$flag
  done
  echo "$(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1), vectors: $widest"
}

# count ATTRIBUTE FILE: a number of the test suite in a JUnit file.
count() { grep -oP "(^\s*|<testsuites .*)$1=\"\K[0-9]+" "$2" | head -n 1; }

# run_tests PRESET: runs a build's tests and adds to the counts.
run_tests() {
  local results="build/$1/results.xml" log="build/$1/tests.log" programs="build/$1/programs"
  local status tests failures skips program within start=$SECONDS
  say "testing $1"
  rm -rf "$results" "$programs"
  ctest --test-dir "build/$1" -j 2 --timeout "$test_timeout" --output-on-failure --no-tests=error \
    --output-junit results.xml >"$log" 2>&1
  status=$?
  if [[ ! -s $results ]]; then
    tail -n 20 "$log" >&2
    say "ctest could not run the tests of $1; see $log"
    failed=$((failed + 1))
    return
  fi
  tests=$(count tests "$results") failures=$(count failures "$results")
  skips=$(($(count skipped "$results") + $(count disabled "$results")))
  # ctest also fails when it could not start a test; count that as one failure.
  ((status == 0 || failures > 0)) || failures=1
  # A program that ran whole is one test of ctest; count the tests within it.
  for program in "$programs"/*.xml; do
    [[ -e $program ]] || continue
    within=$(count failures "$program")
    tests=$((tests - 1 + $(count tests "$program"))) failures=$((failures + (within > 0 ? within - 1 : 0)))
    skips=$((skips + $(grep -c '<skipped' "$program")))
  done
  ((failures == 0)) || grep -vE ' Passed +[0-9.]+ sec$|^ *Start ' "$log" >&2
  skipped_tests "$results" $(ls "$programs"/*.xml 2>/dev/null) |
    sed "s/^/skipped: /; s/&lt;/</g; s/&gt;/>/g; s/&apos;/'/g; s/&quot;/\"/g; s/&amp;/\&/g"
  say "$1: $((tests - failures - skips)) passed, $failures failed, $skips skipped in $((SECONDS - start)) s"
  passed=$((passed + tests - failures - skips))
  failed=$((failed + failures)) skipped=$((skipped + skips))
}

# test_build PRESET TARGET…: configures, builds and tests.
test_build() {
  local start=$SECONDS
  if configure "$1" && build "$@"; then
    say "built $1 in $((SECONDS - start)) s"
    run_tests "$1"
  else
    failed=$((failed + 1))
  fi
}

# fuzz SECONDS: builds the fuzzers of all readers and runs each so long. All other runs test the same
# functions on the corpora.
fuzz() {
  local program name
  if ! { configure fuzz && build fuzz fuzzers; }; then
    failed=$((failed + 1))
    return
  fi
  for program in build/fuzz/tests/fuzz/*_fuzz; do
    name=$(basename "$program" _fuzz)
    mkdir -p "build/fuzz/new/$name"
    say "fuzzing $name for $1 s"
    if "$program" -max_total_time="$1" -artifact_prefix="build/fuzz/$name-" "build/fuzz/new/$name" \
      "tests/fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1; then
      passed=$((passed + 1))
    else
      tail -n 30 "build/fuzz/$name.log" >&2
      failed=$((failed + 1))
    fi
  done
}

case ${1:-} in
  '' | --quick) ;;
  --long)
    export SKYLINE_TEST_LONG=1 SKYLINE_TEST_SEED=${SKYLINE_TEST_SEED:-$(date +%s)}
    test_timeout=14400 sanitized=all_tests fuzz_seconds=180
    ;;
  *)
    say "unknown option '$1', expected --quick or --long"
    exit 2
    ;;
esac
# Newer kernels randomize addresses so widely that the sanitizers of g++ 12 cannot map their shadow
# memory: run everything at fixed addresses.
if [[ -z ${SKYLINE_FIXED_ADDRESSES:-} ]] && setarch -R true 2>/dev/null; then
  SKYLINE_FIXED_ADDRESSES=1 exec setarch -R bash tests/run.sh "$@"
fi
if [[ -n ${SKYLINE_TEST_SEED:-} ]]; then
  say "random cases begin at seed $SKYLINE_TEST_SEED; SKYLINE_TEST_SEED=$SKYLINE_TEST_SEED repeats them"
fi
say "processor: $(processor)"
install_packages
# Two tests run at a time, so a waiting thread must yield its core.
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
test_build release all benchmark_sources
if [[ ${1:-} != --quick ]]; then
  export UBSAN_OPTIONS=print_stacktrace=1
  test_build asan "$sanitized"
  ((fuzz_seconds == 0)) || fuzz "$fuzz_seconds"
  # Only the tests of code that starts threads. The OpenMP runtime is not instrumented, so it gets
  # one thread.
  export OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1
  test_build tsan data_threads_tests lanes_threads_tests memory_threads_tests ranks_threads_tests
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
