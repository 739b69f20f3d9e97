#!/bin/sh
# Installs the Debian packages of packages.txt and, where rustup is installed, the standard library for
# WebAssembly. With --if-possible it does what it may and never fails: the tests skip what is missing.
cd "$(dirname "$0")/.." || exit 1
if_possible=${1:-}
give_up() {
    echo "system: $1" >&2
    [ "$if_possible" = --if-possible ] && exit 0
    exit 1
}

if command -v rustup >/dev/null && ! rustup target list --installed | grep -qx wasm32-unknown-unknown; then
    timeout 120 rustup target add wasm32-unknown-unknown ||
        echo "system: no standard library for wasm32-unknown-unknown; the lab cannot be built" >&2
fi

wanted=""
for package in $(sed 's/#.*//' packages.txt); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'install ok' || wanted="$wanted $package"
done
[ -z "$wanted" ] && exit 0
command -v apt-get >/dev/null || give_up "not a Debian system; not installed:$wanted"
[ "$(id -u)" -eq 0 ] || give_up "not root; not installed:$wanted"
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # a list of words is meant
{ apt-get -qq update && apt-get -qq install -y --no-install-recommends $wanted >/dev/null; } ||
    give_up "apt-get failed; not installed:$wanted"
echo "system: installed$wanted"
