"""HUVM's ablation (USENIX ATC '22, Fig. 7) on a scenario: what each part of its driver brings.

python3 -m analysis.huvm configs/scenarios/huvm_1_3.json --uvmsim build/release/bin/uvmsim

Runs the scenario once per bar. Programs that are repeated are the yielders, the others harvest.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# name: (prefetch, 2 MB host pages, switches)
BARS = {
    "Base": ("tree", False, {}),
    "PE, host only": ("always_2mb", False, {"pre_evict": True}),
    "H": ("always_2mb", False, {"victims": True}),
    "H+PE": ("always_2mb", False, {"victims": True, "pre_evict": True}),
    "H+PE+LP": ("always_2mb", True, {"victims": True, "pre_evict": True}),
    "H+PE+LP+PLF": ("always_2mb", True, {"victims": True, "pre_evict": True, "parallel_fetch": True}),
}


def run(uvmsim, scenario, folder, bar):
    prefetch, large_pages, harvest = BARS[bar]
    changed = dict(scenario, prefetch=prefetch, harvest=harvest)
    changed["settings"] = dict(scenario.get("settings", {}), **{"host.large_pages": large_pages})
    source = folder / "scenario.json"
    source.write_text(json.dumps(changed))
    done = subprocess.run([uvmsim, "scenario", str(source), "--json", "-"], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(done.stderr.strip() or f"{uvmsim} failed")
    return json.loads(done.stdout)["programs"]


def counters(program):
    return program["together"]["counters"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("scenario", type=pathlib.Path)
    parser.add_argument("--uvmsim", default="build/release/bin/uvmsim")
    arguments = parser.parse_args()
    scenario = json.loads(arguments.scenario.read_text())
    for program in scenario["programs"]:
        program["trace"] = str((arguments.scenario.parent / program["trace"]).resolve())
    scenario.pop("$schema", None)

    print(f"{'':14} {'harvester':>10} {'ms':>9} {'base/it':>8} {'to peer':>8} {'to host':>8} {'fetched ahead':>14}"
          f" {'yielders slower by':>19}")
    base = {}
    with tempfile.TemporaryDirectory() as folder:
        for bar in BARS:
            programs = run(arguments.uvmsim, scenario, pathlib.Path(folder), bar)
            yielders = [p["slowdown_thousandths"] / 10 - 100 for p in programs
                        if p["repeat"] and p["slowdown_thousandths"]]
            for program in programs:
                if program["repeat"]:
                    continue
                name, time = program["name"], program["together_ns"] / 1e6
                base.setdefault(name, time)
                c = counters(program)
                print(f"{bar:14} {name:>10} {time:9.1f} {base[name] / time:8.2f} {c['evictions_to_peers']:8}"
                      f" {c['evictions'] - c['evictions_to_peers']:8} {c['parallel_fetches']:14}"
                      f" {max(yielders, default=0):18.1f}%")


if __name__ == "__main__":
    main()
