#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# usage: run_fuzzer.sh FUZZER CORPUS [SEEDS...]: runs a libFuzzer program for UVMSIM_FUZZ_SECONDS (2; 10 where
# UVMSIM_TIER is `all`), from UVMSIM_FUZZ_SEED (1): the same inputs in the same order, as far as the time goes; 0 is another
# one each time.
# New inputs are kept in CORPUS, to go on from, only where UVMSIM_FUZZ_SECONDS is given. An input that crashes, hangs for
# 10 s or takes 2 GB fails the test and is kept beside the corpus.
set -euo pipefail
fuzzer="$1" kept="$2"
shift 2
corpus="$kept" seconds=2
[[ "${UVMSIM_TIER:-}" != all ]] || seconds=10
if [[ -z "${UVMSIM_FUZZ_SECONDS:-}" ]]; then
  corpus="$(mktemp -d)"
  trap 'rm -rf "$corpus"' EXIT
fi
"$fuzzer" -max_total_time="${UVMSIM_FUZZ_SECONDS:-$seconds}" -seed="${UVMSIM_FUZZ_SEED:-1}" \
  -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 \
  -verbosity=0 -artifact_prefix="$kept/../crash_" "$corpus" "$@"
