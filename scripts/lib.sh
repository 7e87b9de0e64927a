# Shared by the scripts beside it: where the repository is, set-up, configure, build. Sourced, not run.
#
# Everything can be repeated after an interruption: packages are asked for by name, a build folder that
# was half configured is thrown away, ninja continues where it stopped.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)

say() { printf '== %s\n' "$*"; }

die() {
  printf 'error: %s\n' "$*" >&2
  exit 1
}

# packages KIND…: names from packages.txt whose second word is one of KIND.
packages() {
  local name kind wanted
  while read -r name kind; do
    for wanted in "$@"; do
      if [[ $kind == "$wanted" && $name != '#' ]]; then
        printf '%s\n' "$name"
      fi
    done
  done <"$root/scripts/packages.txt"
}

is_installed() {
  [[ $(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

# as_root COMMAND…: through sudo when we are not root.
as_root() {
  if ((EUID == 0)); then
    "$@"
  else
    sudo -- "$@"
  fi
}

# install_packages KIND…: installs what is missing; touches no network when nothing is.
install_packages() {
  local name missing=()
  command -v dpkg-query >/dev/null ||
    die "this is not a Debian system; install the packages of scripts/packages.txt by hand"
  while read -r name; do
    is_installed "$name" || missing+=("$name")
  done < <(packages "$@")
  if ((${#missing[@]} == 0)); then
    return
  fi
  say "installing ${missing[*]}"
  if ((EUID != 0)) && ! command -v sudo >/dev/null; then
    die "not root and no sudo; run as root: apt-get install --no-install-recommends ${missing[*]}"
  fi
  local apt=(as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y)
  "${apt[@]}" update >/dev/null || die "apt-get update failed; is there a network?"
  "${apt[@]}" install --no-install-recommends "${missing[@]}" >/dev/null ||
    die "apt-get install failed; run it by hand to see why: apt-get install ${missing[*]}"
}

# configure PRESET [OPTION…]: only when the folder is not configured with these options yet. CMake and
# ninja are taken from PATH, so the cache is dropped when it was made by another CMake.
configure() {
  local preset=$1 build="$root/build/$1" stamp="$root/build/$1/.configured" wanted
  wanted=$(printf '%s\n' "$(cmake --version | head -n 1)" "$(command -v cmake ninja)" "$root" "$@")
  if [[ -f $stamp && $(<"$stamp") == "$wanted" && -f $build/build.ninja ]]; then
    return
  fi
  say "configuring build/$preset"
  rm -rf "$build/CMakeCache.txt" "$build/CMakeFiles" "$stamp"
  (cd "$root" && cmake --preset "$@" >"$root/build/configure-$preset.log" 2>&1) || {
    cat "$root/build/configure-$preset.log" >&2
    die "configuring build/$preset failed"
  }
  printf '%s\n' "$wanted" >"$stamp"
}

# build PRESET [TARGET…]
build() {
  local preset=$1
  shift
  say "building build/$preset"
  ninja -C "$root/build/$preset" -j "$(nproc)" "$@" || die "building build/$preset failed"
}

# set_up KIND…: packages and the folder for build trees.
set_up() {
  install_packages "$@"
  mkdir -p "$root/build"
}
