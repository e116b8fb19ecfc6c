#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A sweep as a job array on a real Slurm: controller, node and authentication run on this machine, on the loopback
# interface, from a temporary folder; nothing of an installed cluster is read or changed.
# usage: run.sh UVMSIM
set -euo pipefail
uvmsim="$(realpath "$1")"
source_dir="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
readonly deadline_s=120 # for every single wait; a loaded machine needs a fraction of it

skip() {
  echo "skipped: $1"
  exit 77
}
((EUID == 0)) || skip "the daemons of Slurm need root"
PATH="$PATH:/usr/sbin"
for program in slurmctld slurmd sbatch scontrol munged mungekey runuser pgrep; do
  type -P "$program" >/dev/null || skip "$program not found; packages slurm-wlm, munge and procps have it"
done
getent passwd munge >/dev/null || skip "no user munge; package munge makes it"

scratch="$(mktemp -d)"
chmod 755 "$scratch" # the user munge must get to its folder
export SLURM_CONF="$scratch/slurm.conf"
unset "${!SBATCH_@}" "${!SLURM_JOB@}" "${!SLURM_ARRAY@}"

fail() {
  echo "failed: $1" >&2
  for log in "$scratch"/*.log "$scratch"/munge/log "$scratch"/*/slurm/*.log; do
    [[ -s "$log" ]] || continue
    echo "--- $log" >&2
    tail -n 15 "$log" >&2
  done
  exit 1
}

# Waits until "$@" succeeds.
await() {
  local what="$1" until=$((SECONDS + deadline_s))
  shift
  until "$@"; do
    ((SECONDS < until)) || fail "waited $deadline_s s for $what"
    sleep 0.05
  done
}

# Process of a pid file, if it lives. A dead one may stay as a zombie where nobody collects them.
lives() {
  local pid
  pid="$(cat "$1" 2>/dev/null)" && [[ -n "$pid" && "$(ps -o stat= -p "$pid")" == [^Z]* ]]
}

# Processes that compute shares of this test's sweeps, or the given share only.
processes_of() { pgrep --full -- " sweep run $scratch/.* --shard ${1:-}" || true; }

clean_up() {
  local status=$? pid
  set +e
  if lives "$scratch/slurmctld.pid"; then
    timeout 20 scancel --user=root 2>/dev/null
  fi
  for pid in $(processes_of); do
    kill -9 "$pid" 2>/dev/null
  done
  local daemon until=$((SECONDS + 20))
  for daemon in slurmd.pid slurmctld.pid munge/pid; do
    lives "$scratch/$daemon" && kill "$(<"$scratch/$daemon")"
  done
  for daemon in slurmd.pid slurmctld.pid munge/pid; do
    while lives "$scratch/$daemon" && ((SECONDS < until)); do sleep 0.1; done
    lives "$scratch/$daemon" && kill -9 "$(<"$scratch/$daemon")"
  done
  rm -rf "$scratch"
  exit "$status"
}
trap clean_up EXIT
trap 'exit 130' INT TERM

start_slurm() {
  local controller_port node_port memory host
  host="$(hostname -s)"
  read -r controller_port node_port < <("${PYTHON:-/usr/bin/python3}" -c '
import socket
sockets = [socket.socket() for _ in range(2)]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])')
  memory="$(awk '/^MemAvailable/ {print int($2 / 1024 * 0.8)}' /proc/meminfo)"
  sed -e "s|@HOST@|$host|g" -e "s|@FOLDER@|$scratch|g" -e "s|@CONTROLLER_PORT@|$controller_port|" \
    -e "s|@NODE_PORT@|$node_port|" -e "s|@MEMORY@|$memory|" "$source_dir/slurm.conf.in" >"$SLURM_CONF"
  mkdir "$scratch/munge" "$scratch/state" "$scratch/spool"
  chown munge: "$scratch/munge"
  runuser -u munge -- mungekey --create --keyfile="$scratch/munge/key"
  runuser -u munge -- munged --key-file="$scratch/munge/key" --socket="$scratch/munge/socket" \
    --pid-file="$scratch/munge/pid" --log-file="$scratch/munge/log" --seed-file="$scratch/munge/seed"
  slurmctld -f "$SLURM_CONF"
  slurmd -f "$SLURM_CONF"
  node_is_idle() { [[ "$(sinfo --noheader --format=%T 2>/dev/null)" == idle ]]; }
  await "the node" node_is_idle
}

# Job arrays: one line of scontrol per task, or for several that wait.
tasks_of() { scontrol --oneliner show job "$1" | grep --fixed-strings "ArrayJobId=$1 "; }
is_over() { ! tasks_of "$1" | grep --quiet --extended-regexp 'JobState=(PENDING|RUNNING|COMPLETING|CONFIGURING)'; }
submit() { sbatch --parsable "$@"; }
# "TASK STATE EXIT" of each task, in order.
outcome_of() {
  tasks_of "$1" | sed -E 's/.* ArrayTaskId=([0-9]+) .* JobState=([A-Z_]+) .* ExitCode=([0-9:]+) .*/\1 \2 \3/' | sort -n
}
expect_outcome() {
  local job="$1" expected="$2"
  await "job $job" is_over "$job"
  [[ "$(outcome_of "$job")" == "$expected" ]] ||
    fail "job $job ended as
$(outcome_of "$job")
expected:
$expected"
}
expect_status() {
  local expected="$1" status=0
  shift
  "$@" >"$scratch/out.log" 2>&1 || status=$?
  ((status == expected)) || fail "exit code $status instead of $expected: $*"
}

# What is finished, and since when.
finished() { (cd "$1/points" && find . -name '*.json' ! -name '*.error.json' -printf '%f %i %T@\n' | sort); }

cd "$scratch"
"$uvmsim" trace generate zipf --bytes 256MiB --kernels 8 --write-percent 30 --seed 5 -o zipf.jsonl
cat >sweep.json <<'EOF'
{"evict": ["lrm", "lru"], "osf": ["none", 1.25, 1.5, 2, 3, 4], "prefetch": ["none", "tree"], "systems": "a100-sxm-40g",
 "traces": "zipf.jsonl"}
EOF
"$uvmsim" sweep sweep.json -o local
start_slurm

echo "plan: 24 points, 8 per task; the folder has a name that needs quoting everywhere"
sweep="$scratch/a sweep's \"folder\" of 100% \$HOME"
plan() {
  rm -rf "$sweep"
  "$uvmsim" sweep plan sweep.json -o "$sweep" >/dev/null
  "$uvmsim" sweep slurm "$sweep" --points-per-task 8 --output job.sbatch
}

echo "array, and one task killed in the middle"
# False when the task was over before it could be killed.
kill_first_task() {
  local ids victims
  plan
  # Shares are every third point.
  mapfile -t ids < <(sed -n -E '1~3s/.*"id":"([0-9a-f]{64})".*/\1/p' "$sweep/points.jsonl")
  ((${#ids[@]} == 8)) || fail "the plan has another form than this test knows"
  has_begun() {
    local id
    for id in "${ids[@]}"; do
      [[ ! -e "$sweep/points/$id.json" ]] || return 0
    done
    return 1
  }
  job="$(submit job.sbatch)"
  await "the first point of task 1" has_begun
  mapfile -t victims < <(processes_of 1/3)
  kill -9 "${victims[@]}" 2>/dev/null || true # some are gone with the first
  await "job $job" is_over "$job"
  [[ "$(outcome_of "$job")" == "1 FAILED 0:9"* ]]
}
for attempt in 1 2 3 4 5; do
  if kill_first_task; then break; fi
  echo "too late at attempt $attempt"
done
expect_outcome "$job" "1 FAILED 0:9
2 COMPLETED 0:0
3 COMPLETED 0:0"
expect_status 1 "$uvmsim" sweep status "$sweep"
cat out.log
before="$(finished "$sweep")"
(($(wc -l <<<"$before") > 16 && $(wc -l <<<"$before") < 24)) || fail "a killed task left $(wc -l <<<"$before") of 24 points"
expect_status 1 "$uvmsim" sweep collect "$sweep"
[[ ! -e "$sweep/results.sqlite" && ! -e "$sweep/results.csv" ]] || fail "a partial sweep was collected as a whole one"

echo "resume: the same task once more"
expect_outcome "$(submit --array=1 job.sbatch)" "1 COMPLETED 0:0"
expect_status 0 "$uvmsim" sweep status "$sweep"
[[ -z "$(comm -23 <(echo "$before") <(finished "$sweep"))" ]] || fail "finished points were computed again"
expect_status 0 "$uvmsim" sweep collect "$sweep"
for results in results.sqlite results.csv; do
  cmp "$sweep/$results" "local/$results" || fail "$results differs from that of a local run"
done

echo "a second submission computes nothing"
before="$(finished "$sweep")"
expect_outcome "$(submit job.sbatch)" "1 COMPLETED 0:0
2 COMPLETED 0:0
3 COMPLETED 0:0"
[[ "$(finished "$sweep")" == "$before" ]] || fail "finished points were computed again"

echo "one point that fails fails its task and the sweep, and is named"
cat >broken.jsonl <<'EOF'
{"t":"header","major":1,"minor":0,"quantum_bytes":4096,"tool":"by hand"}
{"t":"object_alloc","id":1,"bytes":4194304}
{"t":"kernel","name":"k","grid":[1,1,1],"block":[32,1,1],"duration_ns":10,"accesses":[[2,[[0,1,"w"]]]]}
EOF
echo '{"traces": ["broken.jsonl", "zipf.jsonl"], "systems": "a100-sxm-40g", "osf": "none"}' >failing.json
"$uvmsim" sweep plan failing.json -o failing
"$uvmsim" sweep slurm failing --points-per-task 1 --output failing.sbatch
job="$(submit failing.sbatch)"
expect_outcome "$job" "1 FAILED 1:0
2 COMPLETED 0:0"
grep --quiet "failed: broken.jsonl" "failing/slurm/${job}_1.log" || fail "the log does not name the point"
expect_status 1 "$uvmsim" sweep status failing
grep --quiet "failed: broken.jsonl .*object 2 was never allocated" out.log || fail "the status does not name the point"
expect_status 1 "$uvmsim" sweep collect failing
echo "all as expected"
