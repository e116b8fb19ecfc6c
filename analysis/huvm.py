# SPDX-License-Identifier: Apache-2.0
"""HUVM (USENIX ATC '22): what each part of its driver brings, and its sweeps over prefetch amount and spare memory.

    python3 -m analysis.huvm configs/scenarios/huvm_*.json [-o FIGURE]
    python3 -m analysis.huvm configs/scenarios/huvm_1_3.json --sweep prefetch [-o FIGURE]
    python3 -m analysis.huvm configs/scenarios/huvm_1_3.json --sweep spare [-o FIGURE]
    python3 -m analysis.huvm configs/scenarios/huvm_1_3.json --sweep route [-o FIGURE]
    python3 -m analysis.huvm configs/scenarios/huvm_2_2.json --sweep inputs [-o FIGURE]

Runs the scenarios, once per bar of the paper's Fig. 7, per amount of its Fig. 8, or per bar and spare memory of its Fig. 9. Programs
that are repeated are the yielders, the others harvest. `--sweep spare` gives every yielder its footprint and so many percent of the
first harvester's memory, `--sweep route` runs everything under each route policy, `--sweep inputs` runs harvesters alone with one
input changed at a time.

A technique is the step from one bar to the next; it brings something where that step is more than 5 % faster in some scenario. What
yielders lose is counted over their iterations that end after the first harvester has begun.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from analysis.command import parser_of, run
from analysis.errors import ResultError
from analysis.json_text import parse_json
from analysis.style import arrange, bar_look, grid_of, legend_of, load_pyplot, look, save_figure

BASE, WHOLE_BLOCKS, HOST_ONLY, ALL = "Base", "Base+2MB", "pre_ef_host", "+MPF"
_HARVESTS = {"victims": True}
_PRE_EVICTS = {**_HARVESTS, "pre_evict": True}
_FETCHES = {**_PRE_EVICTS, "parallel_fetch": True}
_EVERYTHING = {**_FETCHES, "prefetch": True}
# The paper's bars, and the driver's settings for each: (prefetch of blocks, 2 MB host pages, switches, route policy)
BARS = {
    BASE: ("tree", False, {}, "direct"),
    WHOLE_BLOCKS: ("always_2mb", False, {}, "direct"),
    HOST_ONLY: ("always_2mb", False, {"pre_evict": True, "prefetch": True}, "direct"),
    "H": ("always_2mb", False, _HARVESTS, "min_pending"),
    "H+PE": ("always_2mb", False, _PRE_EVICTS, "min_pending"),
    "+LP": ("always_2mb", True, _PRE_EVICTS, "min_pending"),
    "+PLF": ("always_2mb", True, _FETCHES, "min_pending"),
    "+LPF": ("always_2mb", True, _EVERYTHING, "min_pending"),
    ALL: ("always_2mb", True, _EVERYTHING, "multipath"),
}
IN_TURN = {"min_pending": "round_robin", "multipath": "multipath:target=round_robin"}
ROUTES = ("direct", "host_bounce", "round_robin", "min_pending", "multipath", "multipath:demand=true", "striped")
ORDER = [bar for bar in BARS if bar != HOST_ONLY]
AMOUNTS = (0, 2, 4, 8, 16, 32)  # MiB
SPARE = (5, 10, 20, 40, 60)  # % of a harvester's memory
SPARE_BARS = ("H", "H+PE", "+LP", "+PLF", "+LPF", ALL)
CHUNK = 2 << 20
# Smaller relative differences count as equal.
NOISE = 0.005
# A technique is effective if it makes some scenario faster by more than this.
BRINGS = 0.05
# "Up to", over pre_ef_host, everything switched on. For single techniques the paper's text has no numbers, only an
# order.
PUBLISHED_BEST = 2.71
LOSERS = (BASE, "H", ALL)  # bars for which all programs also run alone
# The counter that explains why a bar is no faster than the one before.
REASONS = {
    WHOLE_BLOCKS: (("fault_batches",), "fault batches"),
    "H": (("evictions_to_peers",), "evictions to peers"),
    "H+PE": (("pre_evictions",), "evictions ahead of need"),
    "+LP": (("htod_fault_bytes", "htod_prefetch_bytes"), "bytes came from the host"),
    "+PLF": (("parallel_fetches",), "blocks were fetched over links of peers"),
    "+LPF": (("chunk_prefetches_from_host", "chunk_prefetches_from_peers"), "blocks were prefetched"),
    "+MPF": (("chunk_prefetches_to_peers",), "blocks were prefetched over links of peers"),
}


class Outcome:
    """The results of a scenario's runs."""

    def __init__(self, results):
        self.results = [result["programs"] for result in results]
        self.programs = [program for programs in self.results for program in programs]

    @property
    def harvesters(self):
        return [program for program in self.programs if not program["repeat"]]

    @property
    def yielders(self):
        return [program for program in self.programs if program["repeat"]]

    def seconds(self):
        """Returns the mean over all harvesters."""
        return sum(program["together_ns"] for program in self.harvesters) / len(self.harvesters) / 1e9

    def counter(self, name):
        return round(sum(program["together"]["counters"][name] for program in self.programs) / len(self.results))

    def slowest_yielder(self):
        """Returns the largest loss of a yielder, in percent; None if no program ran alone as well."""
        since = min(program["start_ns"] for program in self.harvesters)
        losses = [loss(program, since) for program in self.yielders if program.get("alone")]
        return max((one for one in losses if one is not None), default=None)


def loss(program, since):
    """Returns by how many percent the program's iterations that end after `since` are slower than alone; None without
    any."""
    pairs = zip(program["together"]["iterations"] or (), program["alone"]["iterations"] or ())
    pairs = [(one["duration_ns"], other["duration_ns"]) for one, other in pairs if program["start_ns"] + one["end_ns"] > since]
    return 100 * (sum(one for one, _ in pairs) / sum(other for _, other in pairs) - 1) if pairs else None


class Scenario:
    """A scenario file with absolute paths of traces, so that it can be run from elsewhere."""

    def __init__(self, path, reserve=None):
        path = pathlib.Path(path)
        try:
            self.content = parse_json(path.read_text(encoding="utf-8"))
            for program in self.content["programs"]:
                program["trace"] = str((path.parent / program["trace"]).resolve())
        except OSError as error:
            raise ResultError(f"{path}: {error.strerror}") from error
        except (ValueError, KeyError, TypeError) as error:
            raise ResultError(f"{path}: not a scenario: {error}") from error
        self.name = path.stem
        self.content.pop("$schema", None)
        if reserve is not None:
            self.content["harvest"] = {**self.content.get("harvest", {}), "reserve_chunks": reserve}

    def with_bar(self, bar, **more):
        prefetch, large_pages, harvest, route = BARS[bar]
        kept = {key: value for key, value in self.content.get("harvest", {}).items() if key.startswith(("reserve", "prefetch_"))}
        if "round_robin" in str(self.content.get("route", "")):
            route = IN_TURN.get(route, route)
        changed = dict(self.content, prefetch=prefetch, route=route, harvest={**kept, **harvest, **more})
        changed["settings"] = dict(self.content.get("settings", {}), **{"host.large_pages": large_pages})
        return changed

    def with_spare(self, content, footprints, harvester_bytes, percent):
        """Gives every yielder its footprint and `percent` of the harvester's memory."""
        spare = harvester_bytes * percent // 100 // CHUNK
        programs = []
        for program in content["programs"]:
            program = dict(program)
            if program.get("repeat"):
                program.pop("osf", None)
                program["capacity_bytes"] = (-(-footprints[program["name"]] // CHUNK) + spare) * CHUNK
            programs.append(program)
        return dict(content, programs=programs)


def call(uvmsim, content, alone):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "scenario.json"
        source.write_text(json.dumps(content), encoding="utf-8")
        command = [uvmsim, "scenario", str(source), "--json", "-"] + ([] if alone else ["--no-alone"])
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ResultError(f"{uvmsim}: {error.strerror}") from error
    if done.returncode != 0:
        raise ResultError(done.stderr.strip().replace(str(source), "the scenario") or f"{uvmsim} failed")
    return parse_json(done.stdout)


def later(content, run_number):
    """Delays harvesters by increasing times, so that they do not run in step."""
    programs, harvesters = [], 0
    for program in content["programs"]:
        if not program.get("repeat"):
            harvesters += 1
            program = dict(program, start_ns=program.get("start_ns", 0) + run_number * harvesters * 1_000_000)
        programs.append(program)
    return dict(content, programs=programs)


def outcomes(given, tasks, alone=()):
    """Returns the outcomes of {key: content}, several at a time; those in `alone` also compare every program with its
    run alone."""
    with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        futures = {
            key: [pool.submit(call, given.uvmsim, later(content, i), key in alone and i == 0) for i in range(given.runs)]
            for key, content in tasks.items()
        }
        return {key: Outcome([run.result() for run in runs]) for key, runs in futures.items()}


def text_table(header, rows):
    widths = [max(len(row[column]) for row in [header, *rows]) for column in range(len(header))]
    lines = []
    for row in [header, *rows]:
        lines.append("  ".join(cell.ljust(width) if i < 2 else cell.rjust(width) for i, (cell, width) in enumerate(zip(row, widths))))
    return "\n".join(line.rstrip() for line in lines)


# Fig. 7


def percent(value):
    return "-" if value is None else f"{value:.2f}"


def ablation_rows(name, runs):
    rows = []
    for bar in BARS:
        one = runs[bar]
        rows.append(
            (
                name,
                bar,
                f"{one.seconds() * 1e3:.1f}",
                f"{runs[BASE].seconds() / one.seconds():.2f}",
                f"{runs[HOST_ONLY].seconds() / one.seconds():.2f}",
                f"{one.counter('evictions_to_peers')}",
                f"{one.counter('evictions') - one.counter('evictions_to_peers')}",
                f"{one.counter('parallel_fetches')}",
                f"{one.counter('chunk_prefetches_from_host')}",
                f"{one.counter('chunk_prefetches_from_peers')}",
                f"{one.counter('chunk_prefetches_to_peers')}",
                f"{one.counter('chunk_prefetches_dropped')}",
                f"{one.counter('spare_chunks_given_back')}",
                percent(one.slowest_yielder()),
            )
        )
    return rows


def remarks(name, runs):
    """Compares the order of bars with the paper's, and reports differences."""
    lines = [f"{name}: everything is {runs[HOST_ONLY].seconds() / runs[ALL].seconds():.2f} times as fast as {HOST_ONLY}"]
    for before, bar in zip(ORDER, ORDER[1:]):
        gain = runs[before].seconds() / runs[bar].seconds() - 1
        if gain > NOISE:
            continue
        counters, what = REASONS[bar]
        verdict = "as fast as" if gain > -NOISE else f"{-gain:.1%} slower than"
        lines.append(f"{name}: {bar} is {verdict} {before}: {sum(map(runs[bar].counter, counters)):,} {what}")
    return lines


def verdicts(results):
    """Reports each technique's largest effect in any scenario, and whether everything together exceeds the paper's
    best."""
    lines = []
    for before, bar in zip(ORDER, ORDER[1:]):
        gains = {name: runs[before].seconds() / runs[bar].seconds() - 1 for name, runs in results.items()}
        most, least = max(gains, key=gains.get), min(gains, key=gains.get)
        verdict = "brings something" if gains[most] > BRINGS else f"brings no more than {BRINGS:.0%}"
        lines.append(f"{bar} over {before}: {verdict}, {gains[most]:+.1%} at most ({most}), {gains[least]:+.1%} at least ({least})")
    best = {name: runs[HOST_ONLY].seconds() / runs[ALL].seconds() for name, runs in results.items()}
    name = max(best, key=best.get)
    verdict = "exceeds" if best[name] > PUBLISHED_BEST else "does not exceed"
    lines.append(f"everything over {HOST_ONLY}: {best[name]:.2f} at most ({name}) {verdict} the paper's {PUBLISHED_BEST}")
    return lines


def ablation(given):
    scenarios = [Scenario(path, given.reserve) for path in given.scenarios]
    tasks = {(s.name, bar): s.with_bar(bar) for s in scenarios for bar in BARS}
    done = outcomes(given, tasks, [(s.name, bar) for s in scenarios for bar in LOSERS])
    results = {s.name: {bar: done[s.name, bar] for bar in BARS} for s in scenarios}
    header = ("scenario", "bar", "ms", "over Base", f"over {HOST_ONLY}", "to peers", "to host", "fetched", "ahead: own link", "from peers",
              "peers' links", "dropped", "taken back", "yielder loses %")
    print(text_table(header, [row for name, runs in results.items() for row in ablation_rows(name, runs)]))
    print()
    for name, runs in results.items():
        print("\n".join(remarks(name, runs)))
    print("\n" + "\n".join(verdicts(results)))
    if given.figure:
        draw_ablation(results, given.figure)


def draw_ablation(results, path):
    pyplot = load_pyplot()
    figure, axes = grid_of(pyplot, len(results), columns=2, width=3.2 if len(results) > 1 else 5)
    for axis, (name, runs) in zip(axes, results.items()):
        for number, bar in enumerate(BARS):
            axis.bar(number, runs[HOST_ONLY].seconds() / runs[bar].seconds(), width=0.8, label=bar, **bar_look(number))
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(name)
        axis.set_xticks([])
        axis.set_ylabel(f"speed over {HOST_ONLY}")
    arrange(figure, "HUVM: its parts switched on in turn", *legend_of(axes))
    print_paths(save_figure(figure, path))


# Fig. 8


def prefetch_sweep(given):
    scenarios = [Scenario(path, given.reserve) for path in given.scenarios]
    tasks = {}
    for s in scenarios:
        for stride in (1, 2):
            for amount in AMOUNTS:
                more = {"prefetch_chunks": amount // 2, "prefetch_stride": stride} if amount else {"prefetch": False}
                tasks[s.name, stride, amount] = s.with_bar(ALL, **more)
    done = outcomes(given, tasks)
    rows = []
    for (name, stride, amount), one in done.items():
        none = done[name, stride, 0]
        rows.append((name, f"stride {stride}", f"{amount}", f"{one.seconds() * 1e3:.1f}", f"{none.seconds() / one.seconds():.2f}",
                     f"{one.counter('fault_batches')}", f"{one.counter('chunk_prefetches_late')}", f"{one.counter('chunk_prefetches_dropped')}"))
    print(text_table(("scenario", "blocks", "MiB", "ms", "over none", "batches", "waited for", "dropped"), rows))
    if given.figure:
        pyplot = load_pyplot()
        figure, axes = grid_of(pyplot, 1, width=4)
        for number, (name, stride) in enumerate(dict.fromkeys((key[0], key[1]) for key in done)):
            speeds = [done[name, stride, 0].seconds() / done[name, stride, amount].seconds() for amount in AMOUNTS]
            axes[0].plot(range(len(AMOUNTS)), speeds, label=f"{name}, stride {stride}", **look(number))
        axes[0].set_xticks(range(len(AMOUNTS)), AMOUNTS)
        axes[0].set_xlabel("prefetched after a batch at most (MiB)")
        axes[0].set_ylabel("speed over no prefetch")
        arrange(figure, "HUVM: amount of multi-path prefetch", *legend_of(axes))
        print_paths(save_figure(figure, given.figure))


# Fig. 9


def spare_sweep(given):
    scenarios = [Scenario(path, given.reserve) for path in given.scenarios]
    plain = outcomes(given, {s.name: s.with_bar(HOST_ONLY) for s in scenarios})
    tasks = {}
    for s in scenarios:
        results = plain[s.name]
        footprints = {program["name"]: program["together"]["footprint_bytes"] for program in results.yielders}
        memory = results.harvesters[0]["together"]["capacity_bytes"]
        for percent in SPARE:
            for bar in SPARE_BARS:
                tasks[s.name, percent, bar] = s.with_spare(s.with_bar(bar), footprints, memory, percent)
    done = outcomes(given, tasks)
    header = ("scenario", "spare %", *SPARE_BARS, "to host", "fetched", "peers' links")
    rows = []
    for s in scenarios:
        for percent in SPARE:
            times = [plain[s.name].seconds() / done[s.name, percent, bar].seconds() for bar in SPARE_BARS]
            everything = done[s.name, percent, ALL]
            rows.append((s.name, f"{percent}", *(f"{time:.2f}" for time in times),
                         f"{everything.counter('evictions') - everything.counter('evictions_to_peers')}",
                         f"{done[s.name, percent, '+PLF'].counter('parallel_fetches')}",
                         f"{everything.counter('chunk_prefetches_to_peers')}"))
    print(text_table(header, rows))
    print(f"\nspeed over {HOST_ONLY}; counters of {ALL}, 'fetched' of +PLF")
    if given.figure:
        pyplot = load_pyplot()
        figure, axes = grid_of(pyplot, len(scenarios), columns=2, width=3.2 if len(scenarios) > 1 else 5)
        for axis, s in zip(axes, scenarios):
            for number, bar in enumerate(SPARE_BARS):
                speeds = [plain[s.name].seconds() / done[s.name, percent, bar].seconds() for percent in SPARE]
                axis.plot(range(len(SPARE)), speeds, label=bar, **look(number))
            axis.set_xticks(range(len(SPARE)), SPARE)
            axis.set_xlabel("spare memory of a yielder (% of a harvester's)")
            axis.set_ylabel(f"speed over {HOST_ONLY}")
            axis.set_title(s.name)
        arrange(figure, "HUVM: spare memory", *legend_of(axes))
        print_paths(save_figure(figure, given.figure))


# Route policies


def route_sweep(given):
    scenarios = [Scenario(path, given.reserve) for path in given.scenarios]
    tasks = {(s.name, route): dict(s.with_bar(ALL), route=route) for s in scenarios for route in ROUTES}
    done = outcomes(given, tasks, tasks)
    header = ("scenario", "route", "ms", "over direct", "to peers", "to host", "ahead: own link", "from peers", "peers' links", "HtoD GiB",
              "between GPUs GiB", "yielder loses %")
    rows = []
    for (name, route), one in done.items():
        direct = done[name, ROUTES[0]]
        down = sum(one.counter(f"htod_{cause}_bytes") for cause in ("fault", "prefetch", "user", "counter"))
        across = sum(one.counter(f"dtod_{cause}_bytes") for cause in ("fault", "prefetch", "user", "evict"))
        rows.append((name, route, f"{one.seconds() * 1e3:.1f}", f"{direct.seconds() / one.seconds():.2f}", f"{one.counter('evictions_to_peers')}",
                     f"{one.counter('evictions') - one.counter('evictions_to_peers')}", f"{one.counter('chunk_prefetches_from_host')}",
                     f"{one.counter('chunk_prefetches_from_peers')}", f"{one.counter('chunk_prefetches_to_peers')}", f"{down / 2**30:.2f}",
                     f"{across / 2**30:.2f}", percent(one.slowest_yielder())))
    print(text_table(header, rows))
    if given.figure:
        pyplot = load_pyplot()
        figure, axes = grid_of(pyplot, len(scenarios), columns=2, width=3.2 if len(scenarios) > 1 else 5)
        for axis, s in zip(axes, scenarios):
            for number, route in enumerate(ROUTES):
                axis.bar(number, done[s.name, ROUTES[0]].seconds() / done[s.name, route].seconds(), width=0.8, label=route, **bar_look(number))
            axis.set_title(s.name)
            axis.set_xticks([])
            axis.set_ylabel("speed over direct")
        arrange(figure, "HUVM: route policies", *legend_of(axes))
        print_paths(save_figure(figure, given.figure))


# Inputs of the paper's best


def system_of(uvmsim, content):
    done = subprocess.run([uvmsim, "systems", content["system"], "--json"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise ResultError(done.stderr.strip() or f"{uvmsim} failed")
    return parse_json(done.stdout)


def scaled(system, links, keys, factor):
    """Returns settings that multiply some keys of these links by a factor."""
    settings = {}
    for number, link in enumerate(system.get(links, ())):
        for key in keys:
            value = link
            for part in key.split("."):
                value = value[part]
            value = value["value"] if isinstance(value, dict) else value
            settings[f"{links}.{number}.{key}"] = round(value * factor)
    return settings


def inputs_of(system):
    """Returns {changed input: (settings, OSF of the harvesters)}."""
    host = ("host_to_device.bytes_per_us", "device_to_host.bytes_per_us", "both_ways_bytes_per_us")
    peers = {f"NVLink x {factor}": scaled(system, "peer_links", ("each_way.bytes_per_us",), factor) for factor in (0.75, 0.5, 0.25)}
    others = {
        "PCIe x 2": scaled(system, "host_links", host, 2),
        "no gap between pieces": scaled(system, "host_links", ("host_to_device.run_ns", "device_to_host.run_ns"), 0),
        "eviction costs 5 us": {"costs.evict_chunk_ns": 5000},
        "2 MB host pages for both": {"host.large_pages": True},
    }
    changes = {name: (settings, None) for name, settings in {"as it is": {}, **peers, **others}.items()}
    return {**changes, "OSF 1.2": ({}, 1.2), "OSF 2": ({}, 2)}


def without_yielders(content, settings, osf):
    programs = [dict(program, start_ns=0) for program in content["programs"] if not program.get("repeat")]
    if osf is not None:
        programs = [dict(program, osf=osf) for program in programs]
    return dict(content, programs=programs, settings={**content["settings"], **settings})


def input_sweep(given):
    scenarios = [Scenario(path, given.reserve) for path in given.scenarios]
    tasks = {}
    for s in scenarios:
        for name, (settings, osf) in inputs_of(system_of(given.uvmsim, s.content)).items():
            for bar in (WHOLE_BLOCKS, HOST_ONLY, ALL):
                tasks[s.name, name, bar] = without_yielders(s.with_bar(bar), settings, osf)
    done = outcomes(given, tasks)
    rows = []
    for scenario, name in dict.fromkeys((key[0], key[1]) for key in done):
        whole, host, everything = (done[scenario, name, bar].seconds() for bar in (WHOLE_BLOCKS, HOST_ONLY, ALL))
        rows.append((scenario, name, f"{host * 1e3:.1f}", f"{everything * 1e3:.1f}", f"{whole / everything:.2f}", f"{host / everything:.2f}"))
    print(text_table(("scenario", "input", f"{HOST_ONLY} ms", f"{ALL} ms", f"over {WHOLE_BLOCKS}", f"over {HOST_ONLY}"), rows))
    if given.figure:
        pyplot = load_pyplot()
        figure, axes = grid_of(pyplot, len(scenarios), columns=2, width=5)
        for axis, s in zip(axes, scenarios):
            mine = [row for row in rows if row[0] == s.name]
            for number, row in enumerate(mine):
                axis.bar(number, float(row[-1]), width=0.8, label=row[1], **bar_look(number))
            axis.axhline(PUBLISHED_BEST, color="black", linewidth=0.8)
            axis.set_title(s.name)
            axis.set_xticks([])
            axis.set_ylabel(f"speed over {HOST_ONLY}")
        arrange(figure, "HUVM: one input changed at a time", *legend_of(axes))
        print_paths(save_figure(figure, given.figure))


def print_paths(paths):
    for path in paths:
        print(f"figure: {path}")


def main(arguments=None):
    parser = parser_of("huvm", __doc__)
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO")
    parser.add_argument("--sweep", choices=("prefetch", "spare", "route", "inputs"), help="Fig. 8 or 9 instead of 7, all route policies, or changed inputs")
    parser.add_argument("-o", "--figure", metavar="FIGURE", help="write FIGURE.png and FIGURE.pdf")
    parser.add_argument("--uvmsim", default="build/release/bin/uvmsim", metavar="COMMAND")
    parser.add_argument("--reserve", type=int, metavar="N", help="chunks that every GPU keeps, instead of the scenario's")
    parser.add_argument("--runs", type=int, default=1, metavar="N", help="mean of N runs, harvesters a millisecond further apart in each; default 1")
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count(), metavar="N", help="runs at a time; default as many as cores")
    given = parser.parse_args(arguments)
    if given.jobs < 1 or given.runs < 1:
        parser.error("--jobs and --runs: at least 1")
    work = {None: ablation, "prefetch": prefetch_sweep, "spare": spare_sweep, "route": route_sweep, "inputs": input_sweep}[given.sweep]
    return run("huvm", lambda: work(given))


if __name__ == "__main__":
    sys.exit(main())
