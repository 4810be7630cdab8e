# Sourced by train/demo.sh, tests/run.sh and tests/gpu.sh: installs packages, configures and builds.

# The one list of Debian packages that Skyline is built from.
packages=(
  ccache cmake coinor-libcbc-dev coinor-libclp-dev g++ ninja-build
  libcli11-dev libdnnl-dev libfmt-dev libjpeg-dev libpng-dev libssl-dev libthrust-dev libutfcpp-dev
  libz3-dev nlohmann-json3-dev zlib1g-dev
)
# What tests and benchmarks need besides.
test_packages=(libbenchmark-dev libgmock-dev libgtest-dev)

say() { printf '%s\n' "$*" >&2; }

# has_card: whether a CUDA device answers here.
has_card() { command -v nvidia-smi >/dev/null && nvidia-smi -L >/dev/null 2>&1; }

# Prints the packages that are not installed.
missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
  done
}

# as_root COMMAND…: runs COMMAND as root, with sudo if needed. Returns 1 without root and sudo.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    sudo "$@"
  else
    return 1
  fi
}

# Installs the missing packages. Names them and exits with 1 where it cannot.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is not Debian: install the equivalents of these packages, then build with cmake: ${packages[*]}"
    exit 1
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} > 0)) || return 0
  if ! as_root true; then
    say "missing packages: ${missing[*]}"
    say "this script needs root or sudo to install them; as root: apt-get install --no-install-recommends ${missing[*]}"
    exit 1
  fi
  say "installing ${missing[*]}"
  local log
  log=$(mktemp)
  if ! { as_root apt-get -q update && as_root env DEBIAN_FRONTEND=noninteractive apt-get -q install \
    -y --no-install-recommends "${missing[@]}"; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    say "apt-get could not install: ${missing[*]}"
    exit 1
  fi
  rm -f "$log"
}

# configure PRESET [CMAKE_OPTION…]: quiet on success; returns 1 on failure.
configure() {
  local folder=build/$1
  mkdir -p "$folder"
  cmake --preset "$@" >"$folder/configure.log" 2>&1 && return
  tail -n 30 "$folder/configure.log" >&2
  say "cmake could not configure '$1'; see $folder/configure.log"
  return 1
}

# build PRESET TARGET…: runs two jobs at a time; quiet on success; returns 1 on failure.
build() {
  local preset=$1
  shift
  say "building $preset: $*"
  cmake --build --preset "$preset" --target "$@" >"build/$preset/build.log" 2>&1 && return
  grep -E -A 5 ' error: |^FAILED: ' "build/$preset/build.log" | head -n 40 >&2
  say "the build of '$preset' failed; see build/$preset/build.log"
  return 1
}
