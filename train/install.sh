# Sourced by train/demo.sh and tests/run.sh. The one list of Debian packages that Skyline is built from.
packages=(
  ccache cmake coinor-libcbc-dev g++ ninja-build
  libbenchmark-dev libcli11-dev libdnnl-dev libfmt-dev libgmock-dev libgtest-dev libssl-dev libstb-dev
  libthrust-dev libutfcpp-dev libz3-dev nlohmann-json3-dev zlib1g-dev
)

say() { printf '%s\n' "$*" >&2; }

# Prints those of the packages that are not installed.
missing_packages() {
  local package
  for package in "${packages[@]}"; do
    [[ $(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null) == installed ]] || printf '%s\n' "$package"
  done
}

# as_root COMMAND…: runs it as root, by sudo where we are not; returns 1 where neither can be.
as_root() {
  if ((EUID == 0)); then
    "$@"
  elif command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; then
    sudo "$@"
  else
    return 1
  fi
}

# Installs what is missing, or says what is and stops the script.
install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "this is no Debian: install what these packages hold, then build with cmake: ${packages[*]}"
    exit 1
  fi
  local missing
  mapfile -t missing < <(missing_packages)
  ((${#missing[@]} > 0)) || return 0
  if ! as_root true; then
    say "missing packages: ${missing[*]}"
    say "neither root nor sudo is at hand; as root: apt-get install --no-install-recommends ${missing[*]}"
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

# configure PRESET: quiet unless it fails; returns 1 then.
configure() {
  mkdir -p "build/$1"
  cmake --preset "$1" >"build/$1/configure.log" 2>&1 && return
  tail -n 30 "build/$1/configure.log" >&2
  say "cmake could not configure '$1'; see build/$1/configure.log"
  return 1
}

# build PRESET TARGET…: two jobs at a time, quiet unless it fails; returns 1 then.
build() {
  local preset=$1
  shift
  say "building $preset: $*"
  cmake --build --preset "$preset" --target "$@" >"build/$preset/build.log" 2>&1 && return
  grep -E -A 5 ' error: |^FAILED: ' "build/$preset/build.log" | head -n 40 >&2
  say "the build of '$preset' failed; see build/$preset/build.log"
  return 1
}
