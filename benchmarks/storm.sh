# Shared by the storms beside it: options, a work folder, what a run has left behind. Sourced, not run.

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$(dirname "$here")/build/release
count=0 seed=1 work=''

die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# read_options DEFAULT_COUNT OPTION…
read_options() {
  count=$1
  shift
  while (($# > 0)); do
    case $1 in
      --count | --seed | --build | --work) [[ $# -ge 2 ]] || die "$1 needs a value" ;;
      *) die "usage: $(basename "$0") [--count N] [--seed S] [--build DIR] [--work DIR]" ;;
    esac
    case $1 in
      --count) count=$2 ;;
      --seed) seed=$2 ;;
      --build) build=$2 ;;
      --work) work=$2 ;;
    esac
    shift 2
  done
  [[ $count =~ ^[1-9][0-9]{0,5}$ ]] || die "--count: expected 1 to 999999, found \"$count\""
  [[ $seed =~ ^[0-9]{1,9}$ ]] || die "--seed: expected a number of at most 9 digits, found \"$seed\""
  build=$(cd "$build" && pwd) || die "--build: no such folder"
  [[ -x $build/reprise ]] || die "$build/reprise is not there; run scripts/build first"
  work=${work:-$(mktemp -d)}
  mkdir -p "$work"
  RANDOM=$((seed % 32768))
}

# Every process of a storm has this in its environment.
mark=reprise-storm-$$

# Process ids of what a run has left behind.
left_behind() {
  grep -lszF "STORM=$mark" /proc/[0-9]*/environ | cut -d / -f 3 || true
}

# The kernel delivers SIGKILL to workers and tracees after their parent is gone; for at most 10 s.
await_none_left() {
  local i
  for ((i = 0; i < 1000; ++i)); do
    [[ -z $(left_behind) ]] && return 0
    sleep 0.01
  done
  return 1
}

# number_in FILE FIELD: the first number of that field in a report; 0 where it is not there.
number_in() {
  local value
  value=$(grep -oE "\"$2\": [0-9]+" "$1" | head -n 1 | grep -oE '[0-9]+$') || true
  printf '%s' "${value:-0}"
}
