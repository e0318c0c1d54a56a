# Shared by the scripts beside it: messages, packages, builds, Python environments. Sourced, never run.
set -euo pipefail
export LC_ALL=C.UTF-8

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
self=$(realpath --relative-to="$root" "$0")
logs=$root/build/log
cache=${XDG_CACHE_HOME:-${HOME:-/var/tmp}/.cache}/slipway
cd "$root"

# Some machines export these globally; an older core named here halves the speed of OpenBLAS.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE

say() { printf '%s\n' "$@"; }
die() {
    printf '%s: %s\n' "$self" "$*" >&2
    exit 1
}

# logged NAME WHAT COMMAND...: runs the command with its output in build/log/NAME.log, and shows the output if it fails.
logged() {
    local log=$logs/$1.log what=$2
    shift 2
    mkdir -p "$logs" 2>/dev/null || die "cannot write to $logs"
    if ! "$@" >"$log" 2>&1 </dev/null; then
        tail -n 40 "$log" >&2
        die "$what failed; all of its output is in $log"
    fi
}

# packages GROUP...: the names in these groups of packages.txt.
packages() {
    local group
    for group in "$@"; do
        awk -v group="$group" '$1 == group { print $2 }' "$root/scripts/packages.txt"
    done | sort -u
}

installed() { dpkg-query -W -f='${db:Status-Status}\n' "$1" 2>/dev/null | grep -qx installed; }

missing_packages() {
    local package
    for package in $(packages "$@"); do
        installed "$package" || printf '%s ' "$package"
    done
}

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

apt() { as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=300 "$@"; }

# apt's lists may be absent (a fresh image) or stale (the named version is gone): fetch them in either case.
apt_install() {
    if ! apt-get install --simulate "$@" >/dev/null 2>&1; then
        apt update || return
    elif apt install --no-install-recommends "$@"; then
        return
    else
        apt update || return
    fi
    apt install --no-install-recommends "$@"
}

# install_packages GROUP...: names the missing packages and installs them. If none is missing, it does nothing and needs no network.
install_packages() {
    command -v dpkg-query >/dev/null ||
        { say "This is not Debian, so nothing is installed; scripts/packages.txt lists what is needed."; return 0; }
    local missing
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    say "Will install these Debian packages: $missing"
    if [ "$(id -u)" != 0 ]; then
        command -v sudo >/dev/null || die "needs root or sudo for: apt-get install $missing"
        sudo -v || die "sudo was refused; as root: apt-get install $missing"
    fi
    # shellcheck disable=SC2086  # a list of names
    logged packages "installing the Debian packages" apt_install $missing
}

# build PRESET [TARGET...]: configures and builds, all targets if none is named.
build() {
    local preset=$1
    shift
    say "Building preset $preset (in build/$preset)"
    logged "configure-$preset" "configuring preset $preset" cmake --preset "$preset"
    if [ -t 1 ]; then
        cmake --build --preset "$preset" ${1:+--target "$@"} || die "building preset $preset failed"
    else
        logged "build-$preset" "building preset $preset" cmake --build --preset "$preset" ${1:+--target "$@"}
    fi
}

# python_environment NAME: makes the virtual environment of scripts/NAME.txt outside the tree, once, and puts its
# interpreter's path into $python.
python_environment() {
    local list=$root/scripts/$1.txt directory stamp
    stamp=$(cat "$list" - <<<"$(python3 --version)" | sha256sum | cut -c1-12)
    directory=$cache/$1-$stamp
    python=$directory/bin/python
    [ ! -e "$directory/complete" ] || return 0
    say "Will install from Python's registry, into $directory: $(grep -v '^#' "$list" | tr '\n' ' ')"
    rm -rf "$directory"
    mkdir -p "$cache" || die "cannot write to $cache (XDG_CACHE_HOME names another place)"
    logged "python-$1" "making the Python environment $directory" python3 -m venv "$directory"
    logged "python-$1" "installing Python packages for $1${python_hint:+ ($python_hint)}" \
        "$directory/bin/pip" install --disable-pip-version-check -r "$list"
    touch "$directory/complete"
}

# python_overlay NAME: puts the packages of scripts/NAME.txt, without what they depend on, into a directory outside the tree, once, and
# its path into $overlay. $python must be set.
python_overlay() {
    if missing "$1"; then
        say "Will install from Python's registry, into $cached: $(grep -v '^#' "$root/scripts/$1.txt" | tr '\n' ' ')"
        logged "python-$1" "installing Python packages for $1${python_hint:+ ($python_hint)}" \
            "$python" -m pip install --disable-pip-version-check --no-deps --target "$cached" -r "$root/scripts/$1.txt"
        touch "$cached/complete"
    fi
    overlay=$cached
}

# missing NAME: sets $cached to the directory, outside the tree, of what scripts/NAME.txt lists. True if it has to be filled; it is
# empty then.
missing() {
    cached=$cache/$1-$(sha256sum <"$root/scripts/$1.txt" | cut -c1-12)
    [ ! -e "$cached/complete" ] || return 1
    rm -rf "$cached"
    mkdir -p "$cached" || die "cannot write to $cached (XDG_CACHE_HOME names another place)"
}

# Each tool has a module of its own: they need different versions of the same packages.
build_go_tools() {
    local command package modules module
    while read -r command package modules; do
        module=$cached/src/$command
        mkdir -p "$module"
        # shellcheck disable=SC2086  # a list of modules
        (cd "$module" && go mod init "slipway/$command" && go get $modules && go build -o "$cached/$command" "$package") || return
    done < <(grep -v '^#' "$root/scripts/go.txt")
    rm -rf "$cached/src"
}

# interop_tools: installs what the gRPC interop tests need besides Debian's packages, and sets $go_tools and $node_modules to the
# directories. If a tool cannot be installed, its variable is empty: the tests that need it are skipped, and say so.
interop_tools() {
    go_tools= node_modules=
    if missing go; then
        say "Will build from Go's module proxy, into $cached: $(awk '!/^#/ { print $1 }' scripts/go.txt | tr '\n' ' ')"
        mkdir -p "$logs"
        (GOFLAGS=-mod=mod GOTOOLCHAIN=local build_go_tools) >"$logs/go.log" 2>&1 </dev/null && touch "$cached/complete" ||
            say "NOTE: no h2spec, grpcurl, ghz ($(tail -n 1 "$logs/go.log")): their tests will be SKIPPED."
    fi
    [ ! -e "$cached/complete" ] || go_tools=$cached
    if missing node; then
        say "Will install from npm's registry, into $cached: $(grep -v '^#' scripts/node.txt | tr '\n' ' ')"
        mkdir -p "$logs"
        # shellcheck disable=SC2046  # a list of packages
        npm install --prefix "$cached" --no-audit --no-fund --ignore-scripts $(grep -v '^#' scripts/node.txt) >"$logs/node.log" 2>&1 </dev/null &&
            touch "$cached/complete" || say "NOTE: no @grpc/grpc-js ($(tail -n 1 "$logs/node.log")): its tests will be SKIPPED."
    fi
    [ ! -e "$cached/complete" ] || node_modules=$cached/node_modules
}
