#!/bin/bash
# Installs what is missing, builds, and runs every test that this machine can run:
#   bash tests/run.sh           in release, then under the address + undefined and thread sanitizers
#   bash tests/run.sh --quick   in release only
# Ends with a line "N passed, N failed, N skipped", over all builds; exits 1 when any failed.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
source train/install.sh
packages+=(chromium)  # opens the pages that tests look into

passed=0 failed=0 skipped=0

# Prints "NAME: REASON" for each skipped or disabled test of a JUnit file.
skipped_tests() {
  awk '
    /<testcase / { name = $0; sub(/.*<testcase name="/, "", name); sub(/".*/, "", name) }
    /<skipped|status="disabled"/ { is_skipped = 1 }
    after_skip { reason = $0; after_skip = 0 }
    /: Skipped$/ { after_skip = 1 }
    /<\/testcase>/ {
      if (is_skipped) print name ": " (reason == "" ? "no reason given" : reason)
      is_skipped = 0; reason = ""
    }' "$1"
}

# The number of an attribute of a JUnit file's test suite.
count() { grep -oP "^\s*$1=\"\K[0-9]+" "$2" | head -n 1; }

# run_tests PRESET: runs the tests of a build and adds to the counts. Rooms that were not asked for
# are no tests of it (ctest lists them as NOT_BUILT).
run_tests() {
  local results="build/$1/results.xml" log="build/$1/tests.log" status tests failures skips
  say "testing $1"
  rm -f "$results"
  ctest --test-dir "build/$1" -E '_NOT_BUILT' -j 2 --timeout 600 --output-on-failure --no-tests=error \
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
  # ctest fails on what it could not run, too.
  ((status == 0 || failures > 0)) || failures=1
  ((failures == 0)) || grep -vE ' Passed +[0-9.]+ sec$|^ *Start ' "$log" >&2
  skipped_tests "$results" | sed 's/^/skipped: /'
  say "$1: $((tests - failures - skips)) passed, $failures failed, $skips skipped"
  passed=$((passed + tests - failures - skips))
  failed=$((failed + failures)) skipped=$((skipped + skips))
}

# test_build PRESET TARGET…: configures, builds and tests.
test_build() {
  if configure "$1" && build "$@"; then
    run_tests "$1"
  else
    failed=$((failed + 1))
  fi
}

case ${1:-} in
  '' | --quick) ;;
  *)
    say "unknown option '$1'; known is: --quick"
    exit 2
    ;;
esac
# The sanitizers of g++ 12 cannot place their shadow memory where newer kernels scatter addresses.
if [[ -z ${SKYLINE_FIXED_ADDRESSES:-} ]] && setarch -R true 2>/dev/null; then
  SKYLINE_FIXED_ADDRESSES=1 exec setarch -R bash tests/run.sh "$@"
fi
install_packages
# Two tests run at a time: waiting threads give their core away.
export OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive
test_build release all
if [[ ${1:-} != --quick ]]; then
  export UBSAN_OPTIONS=print_stacktrace=1
  test_build asan all_tests
  # What starts threads. The OpenMP runtime is not instrumented: one thread of it.
  export OMP_NUM_THREADS=1 OMP_THREAD_LIMIT=1
  test_build tsan data_threads_tests memory_threads_tests
fi
echo "$passed passed, $failed failed, $skipped skipped"
((failed == 0))
