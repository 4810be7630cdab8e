#!/bin/bash
# Tries a packed file where nothing is installed: in a bare Debian 13 that debootstrap makes, with a
# Python and with CUDA's libraries where Python's packages put them, but no driver, no PyTorch and no
# compute-sanitizer.
#   bash tests/gpu/bare_trial.sh FILE.tar.xz [SYSTEM]
# SYSTEM is the system's folder, made if it is missing and kept for the next trial; without it, the
# trial makes one for itself. Checks that without a card nothing runs; that with stand-ins for
# nvidia-smi and nvcc each part says in one line what is missing; and that a dry run for a described
# card loads cuDNN. Needs root, debootstrap and the CUDA toolkit. Exits with 1 if a check fails.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../../train/install.sh"
tree=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../..")
[[ $# == [12] && -f $1 ]] || { say "usage: bash tests/gpu/bare_trial.sh FILE.tar.xz [SYSTEM]"; exit 2; }
((EUID == 0)) || { say "a trial in a bare system needs root"; exit 2; }
packages=(debootstrap)
install_packages
packed=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
system=$(realpath -m "${2:-$work/system}")
failed=0

# The bare system has this machine's Python. A Debian package of Python is not in one folder, so
# then the system gets its own.
python=$(python3 -c 'import sys; print(sys.base_prefix)')
included=()
[[ $python != /usr ]] || included=(--include=python3)
if [[ ! -e $system/usr/bin/dpkg ]]; then
  say "making a bare Debian 13 in $system"
  debootstrap --variant=minbase "${included[@]}" trixie "$system" >"$work/debootstrap.log" 2>&1 ||
    { tail -n 5 "$work/debootstrap.log" >&2; exit 1; }
fi
toolkit=$(realpath "$(dirname "$(readlink -f "$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)")")/../lib")

# in_bare COMMAND…: runs COMMAND in the bare system, with the tree read-only at /skyline, the packed
# file at /packed.tar.xz and nothing of this machine's environment.
in_bare() {
  unshare -m bash -c '
    system=$1 tree=$2 packed=$3 toolkit=$4 python=$5 stand_ins=$6
    shift 6
    mkdir -p "$system"/{skyline,cuda,stand-ins,results} && touch "$system/packed.tar.xz" &&
      mount --bind -o ro "$tree" "$system/skyline" && mount --bind -o ro "$toolkit" "$system/cuda" &&
      mount --bind -o ro "$stand_ins" "$system/stand-ins" &&
      mount --bind -o ro "$packed" "$system/packed.tar.xz" && mount -t proc proc "$system/proc" &&
      mount -t tmpfs tmpfs "$system/tmp" && mount -t tmpfs tmpfs "$system/results" || exit 9
    if [[ $python != /usr ]]; then  # at its own place, because it looks for its library there
      mkdir -p "$system$python" && mount --bind -o ro "$python" "$system$python" || exit 9
    fi
    exec chroot "$system" env -i PATH="/stand-ins/bin:$python/bin:/usr/bin:/bin" \
      PYTHONPATH=/stand-ins/site SKYLINE_RESULTS=/results "$@"' \
    bash "$system" "$tree" "$packed" "$toolkit" "$python" "$work/stand-ins" "$@"
}

# expect WHAT COMMAND…
expect() {
  if "${@:2}"; then say "passed: $1"; else say "FAILED: $1"; failed=1; fi
}

# The libraries as Python's packages lay them out.
mkdir -p "$work"/stand-ins/{bin,site/nvidia/{cudnn,cu13}/lib}
for library in "$toolkit"/lib{cudnn,cublas,nvrtc}*.so.*; do
  [[ $library == */libcudnn* ]] && package=cudnn || package=cu13
  ln -s "/cuda/${library##*/}" "$work/stand-ins/site/nvidia/$package/lib/${library##*/}"
done

in_bare bash /skyline/tests/gpu.sh --run /packed.tar.xz >"$work/none" 2>&1
expect 'without a card nothing runs (exit code 3)' test $? = 3
expect 'it says so' grep -q '^no CUDA device answers' "$work/none"

stand_in() { printf '#!/bin/sh\n%s\n' "$2" >"$work/stand-ins/bin/$1" && chmod +x "$work/stand-ins/bin/$1"; }
stand_in nvidia-smi 'echo a stand-in for a card'
stand_in nvcc 'echo release 13.0'
SECONDS=0
in_bare bash /skyline/tests/gpu.sh --run /packed.tar.xz >"$work/all" 2>&1
expect 'no part passes without a driver (exit code 1)' test $? = 1
say "all parts took $SECONDS s"
cat "$work/all"
expect 'every program starts' test -z "$(grep 'does not start\|cannot open shared' "$work/all")"
expect 'parts name the missing driver' grep -q 'failed: no CUDA device.*driver' "$work/all"
expect 'parts name the missing PyTorch' grep -q "left out: no torch .*No module named 'torch'" "$work/all"
expect 'parts name the missing sanitizer' grep -q 'left out: no compute-sanitizer' "$work/all"
expect 'no part passes' test -z "$(grep -E '^== .* passed' "$work/all")"

in_bare bash -c 'mkdir /tmp/programs && cd /tmp/programs && python3 -m tarfile -e /packed.tar.xz . &&
  LD_LIBRARY_PATH=lib:/stand-ins/site/nvidia/cudnn/lib:/stand-ins/site/nvidia/cu13/lib train/skyline dry-run \
  --model resnet50 --batch-size 32 --device cuda --engines /skyline/tests/benchmarks/h100.json' \
  >"$work/dry-run" 2>&1
expect 'a dry run for a described card loads cuDNN' test $? = 0
tail -n 5 "$work/dry-run"
say "the packed file has $(du -h "$packed" | cut -f 1)"
exit "$failed"
