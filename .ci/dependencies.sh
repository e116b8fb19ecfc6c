# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Installs the packages that uvmsim needs and this machine lacks. For Debian 12 or newer and Ubuntu 22.04 or newer.
#
#   source .ci/dependencies.sh
#   install_dependencies build   # what quickstart.sh needs: compiler, libraries, matplotlib, pandas
#   install_dependencies test    # that, and what test.sh needs: test libraries, clang, clang-format
#
# Says which packages it installs; does nothing, and needs neither root nor a network, when all are there.
# Sets and exports CXX, the g++ to build with, and PYTHON, an interpreter that has matplotlib and pandas.

build_packages=(
  build-essential cmake ninja-build ccache pkg-config
  libboost-program-options-dev nlohmann-json3-dev libfmt-dev libzstd-dev zlib1g-dev liblzma-dev
  protobuf-compiler libprotobuf-dev libsqlite3-dev
  python3 python3-matplotlib python3-pandas)
# slurm-wlm, munge and procps are for tests/slurm, pybind11-dev and python3-dev for the Python module, the last two lines
# for its wheel and the documentation site.
test_packages=(libgtest-dev libgmock-dev libbenchmark-dev clang lld zstd python3-yaml slurm-wlm munge procps
  pybind11-dev python3-dev
  python3-venv python3-setuptools python3-wheel
  python3-sphinx python3-myst-parser furo)

# Prints the first line that explains why, and gives up.
dependency_error() {
  echo "uvmsim: error: $1" >&2
  return 1
}

is_installed() {
  [[ "$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null)" == installed ]]
}

is_available() {
  is_installed "$1" || apt-cache show "$1" >/dev/null 2>&1
}

# The version number behind the package `clang`: 14 on Debian 12 and Ubuntu 22.04.
clang_version() {
  {
    dpkg-query --show --showformat='${Depends}\n' clang 2>/dev/null || true
    apt-cache depends clang 2>/dev/null || true
  } | grep --only-matching --extended-regexp 'clang-[0-9]+' | head -n 1 | cut -d - -f 2 || true
}

# Packages whose names differ between releases; needs the package lists unless everything is installed.
versioned_packages() {
  local for_tests="$1" version
  # Ubuntu 22.04 defaults to g++ 11, which lacks parts of C++20 that we use.
  if grep --quiet --word-regexp jammy /etc/os-release; then
    echo g++-12
  fi
  if [[ "$for_tests" == test ]]; then
    version="$(clang_version)"
    # The sanitizers and libFuzzer; on Ubuntu 22.04 they are part of libclang-common-14-dev.
    if [[ -n "$version" ]] && is_available "libclang-rt-$version-dev"; then
      echo "libclang-rt-$version-dev"
    fi
    # Pages are tried in it. Ubuntu has no such package; the test says that it is skipped.
    if is_available chromium-headless-shell; then
      echo chromium-headless-shell
    fi
    # The format check wants exactly this version; a release without it skips the check.
    if is_available clang-format-14; then
      echo clang-format-14
    fi
  fi
}

# Prints which of the packages for $1 (build or test) are not installed, on one line.
missing_packages() {
  local purpose="$1" package wanted versioned missing=()
  wanted=("${build_packages[@]}")
  if [[ "$purpose" == test ]]; then
    wanted+=("${test_packages[@]}")
  fi
  versioned="$(versioned_packages "$purpose")"
  for package in "${wanted[@]}" $versioned; do
    if ! is_installed "$package"; then
      missing+=("$package")
    fi
  done
  echo "${missing[*]}"
}

install_dependencies() {
  local purpose="$1" as_root=() missing
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    dependency_error "apt-get not found: this script installs packages on Debian 12+ and Ubuntu 22.04+ only;\
 elsewhere install the libraries that CMakeLists.txt looks for, then run cmake --preset release"
  fi

  read -r -a missing <<<"$(missing_packages "$purpose")"
  if ((${#missing[@]} > 0)); then
    if ((EUID != 0)); then
      if ! command -v sudo >/dev/null; then
        dependency_error "installing ${missing[*]} needs root or sudo"
      fi
      as_root=(sudo)
    fi
    "${as_root[@]}" apt-get -qq update
    # With fresh package lists the names that depend on the release are known.
    read -r -a missing <<<"$(missing_packages "$purpose")"
    echo "installing with apt-get: ${missing[*]}"
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install --yes --no-install-recommends \
      -o Dpkg::Use-Pty=0 "${missing[@]}" >/dev/null
  else
    echo "all packages are installed"
  fi

  if [[ -z "${CXX:-}" ]]; then
    CXX=g++
    if (($(g++ -dumpversion | cut -d . -f 1) < 12)); then
      CXX=g++-12
    fi
  fi
  export CXX
  # Not the first python3 of PATH, which may be one without the distribution's packages.
  export PYTHON=/usr/bin/python3
  if ! "$PYTHON" -c 'import matplotlib, pandas' 2>/dev/null; then
    dependency_error "$PYTHON cannot import matplotlib and pandas although their packages are installed"
  fi
}
