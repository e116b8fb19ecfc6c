#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The Debian package, made by cpack of a build folder, installed into an empty root and removed.
# usage: deb.sh BUILD_DIR
set -euo pipefail
build="$1"
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT
unset UVMSIM_CONFIG_PATH

cpack -G DEB -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip --config "$build/CPackConfig.cmake" -B "$scratch/made" >/dev/null
package=("$scratch"/made/uvmsim_*.deb)
dpkg-deb --field "${package[0]}" Package Version Architecture Depends
dpkg-deb --field "${package[0]}" Depends | grep libzstd1 >/dev/null

# A root and a database of packages of its own; what the package depends on is the machine's.
root="$scratch/root"
mkdir -p "$root/var/lib/dpkg/updates" "$root/var/lib/dpkg/info" "$scratch/log"
touch "$root/var/lib/dpkg/status"
dpkg=(dpkg --root="$root" --force-not-root --force-depends --force-script-chrootless --force-unsafe-io --log="$scratch/log/dpkg.log")
"${dpkg[@]}" --install "${package[0]}" >/dev/null 2>"$scratch/log/install" || { cat "$scratch/log/install" >&2; exit 1; }

cd /
"$root/usr/bin/uvmsim" --version
"$root/usr/bin/uvmsim" systems --json | grep "\"path\": \"$root/usr/share/uvmsim/configs/systems/h200-sxm-pcie5.json\"" >/dev/null
for file in man/man1/uvmsim-run.1 bash-completion/completions/uvmsim zsh/site-functions/_uvmsim \
  fish/vendor_completions.d/uvmsim.fish doc/uvmsim/copyright; do
  [[ -s "$root/usr/share/$file" || -s "$root/usr/share/$file.gz" ]] || { echo "$file is missing" >&2; exit 1; }
done

"${dpkg[@]}" --purge uvmsim >/dev/null 2>&1
left="$(find "$root" -not -path "$root/var*" -not -path "$root" -not -type d)"
[[ -z "$left" && ! -e "$root/usr" ]] || { echo "left behind: $left" >&2; find "$root/usr" >&2; exit 1; }
