# SPDX-License-Identifier: Apache-2.0
"""Properties of every trace: more memory, faster links and cheaper work never cost time; links keep their rates; parts
add up. README.md explains the tolerances."""

import json
import os
import sqlite3
import subprocess
import tempfile
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COMMAND = os.environ.get("UVMSIM_COMMAND", os.path.join(ROOT, "build/release/bin/uvmsim"))
SYSTEM = "h200-sxm-pcie5"
FACTORS = (1.25, 2, 4)
MOST = 2  # the factor at which links and costs are varied
BLOCK = 2 << 20
# All shipped traces take an hour in the checked build (stencil3d alone five minutes); UVMSIM_PHYSICS=all runs them.
QUICK = ("alexnet", "dlrm", "pagerank", "tiled_matmul")
# Traces that the test generates and runs as well.
GENERATED = {
    "generated_stencil": ("stencil", "--bytes", "64MiB", "--kernels", "8", "--repeats", "2", "--write-percent", "50"),
    "generated_zipf": ("zipf", "--bytes", "64MiB", "--kernels", "16", "--write-percent", "30"),
}

# By how many percent a run with more of a resource may take longer because its batches differ.
TOLERANCE = {"memory": 2, "links": 2, "driver": 4}
# Traces that exceed the tolerance: {(resource, trace): (percent, reason)}.
KNOWN = {}


def uvmsim(*arguments):
    return subprocess.run([COMMAND, *arguments], check=True, capture_output=True, text=True).stdout


def halved(group):
    """Returns `--set` options that halve every cost of a group of the system."""
    system = json.loads(uvmsim("systems", SYSTEM, "--json"))
    costs = {}
    for key, value in system[group].items():
        number = value["value"] if isinstance(value, dict) else value
        # This time delays sleep; it is no cost.
        if key.endswith("_ns") and key != "sleep_after_ns" and number:
            costs[f"{group}.{key}"] = number // 2
    return costs


def doubled_links():
    system = json.loads(uvmsim("systems", SYSTEM, "--json"))
    link = "host_links.0.{}.bytes_per_us"
    rates = {}
    for direction in ("host_to_device", "device_to_host"):
        value = system["host_links"][0][direction]["bytes_per_us"]
        rates[link.format(direction)] = 2 * (value["value"] if isinstance(value, dict) else value)
    return rates


def trace_names():
    names = sorted(name for name in os.listdir(os.path.join(ROOT, "workloads")) if name.endswith(".uvmt"))
    if os.environ.get("UVMSIM_PHYSICS") == "all":
        return names
    return [name for name in names if name.removesuffix(".uvmt") in QUICK]


def traces(folder):
    """Returns the paths of the shipped traces and of generated ones, which are written to `folder`."""
    paths = [os.path.join(ROOT, "workloads", name) for name in trace_names()]
    for name, arguments in GENERATED.items():
        paths.append(os.path.join(folder, name + ".uvmt"))
        uvmsim("trace", "generate", *arguments, "-o", paths[-1])
    return paths


def kinds_of_traces(paths):
    """Returns the traces, cut to one iteration if the trace marks iterations."""
    marked, whole = [], []
    for path in paths:
        marks = json.loads(uvmsim("trace", "info", path, "--json"))["iterations"]
        (marked if marks else whole).append(path)
    return [{"traces": marked, "iterations": 1}, {"traces": whole}]


class Physics(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.traces = traces(cls.folder.name)
        variants = {"links": doubled_links(), "driver": halved("costs")}
        spec = {
            "systems": SYSTEM,
            "grids": [
                {**kind, **grid}
                for kind in kinds_of_traces(cls.traces)
                for grid in (
                    {"osf": ["none", *FACTORS]},
                    *({"osf": MOST, "settings": one} for one in variants.values()),
                )
            ],
        }
        path = os.path.join(cls.folder.name, "physics.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump(spec, file)
        out = os.path.join(cls.folder.name, "out")
        uvmsim("sweep", path, "-o", out)
        connection = sqlite3.connect(os.path.join(out, "results.sqlite"))
        connection.row_factory = sqlite3.Row
        cls.points = [dict(row) for row in connection.execute("SELECT * FROM points")]
        systems = dict(connection.execute("SELECT sha256, json FROM systems"))
        connection.close()
        names = {
            json.dumps([f"{key}={value}" for key, value in settings.items()]): name
            for name, settings in variants.items()
        }
        cls.runs, cls.variants = {}, {}
        for point in cls.points:
            point["links"] = json.loads(systems[point["system_sha256"]])["host_links"][0]
            settings = json.dumps(json.loads(point["settings"]))
            factor = 0 if point["limit_by"] == "none" else point["osf_thousandths"] / 1000
            if settings == "[]":
                cls.runs.setdefault(point["trace"], {})[factor] = point
            elif factor:
                cls.variants.setdefault(point["trace"], {})[names[settings]] = point

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def assert_not_slower(self, what, trace, more, less):
        """Checks that the run with more of a resource (`more`) takes no longer than the other."""
        allowed = KNOWN.get((what, trace), (TOLERANCE[what],))[0]
        with self.subTest(trace=trace, what=what):
            self.assertLessEqual(more, less * (1 + allowed / 100), f"{100 * (more / less - 1):+.1f} %")

    def test_every_trace_is_there(self):
        self.assertEqual(sorted(self.runs), sorted(map(os.path.basename, self.traces)))
        for trace, runs in self.runs.items():
            self.assertEqual(sorted(runs), [0, *FACTORS], trace)
            self.assertEqual(sorted(self.variants[trace]), ["driver", "links"], trace)

    def test_more_memory_is_no_slower(self):
        for trace, runs in self.runs.items():
            for more, less in zip((0, *FACTORS), FACTORS):
                self.assert_not_slower("memory", trace, runs[more]["total_ns"], runs[less]["total_ns"])

    def test_faster_links_are_no_slower(self):
        for trace, runs in self.runs.items():
            self.assert_not_slower("links", trace, self.variants[trace]["links"]["total_ns"], runs[MOST]["total_ns"])

    def test_a_cheaper_driver_is_no_slower(self):
        for trace, runs in self.runs.items():
            self.assert_not_slower("driver", trace, self.variants[trace]["driver"]["total_ns"], runs[MOST]["total_ns"])

    def test_nothing_is_faster_than_with_everything_resident(self):
        for point in self.points:
            self.assertGreaterEqual(point["total_ns"], point["ideal_ns"], point["command"])

    def test_links_keep_their_rates(self):
        for point in self.points:
            for way, direction in (("htod", "host_to_device"), ("dtoh", "device_to_host")):
                moved = sum(value for name, value in point.items() if name.startswith(way) and name.endswith("_bytes"))
                rate = point["links"][direction]["bytes_per_us"]
                rate = rate["value"] if isinstance(rate, dict) else rate
                self.assertLessEqual(point[f"{way}_busy_ns"], point["total_ns"], point["command"])
                # Allows a nanosecond per copy for rounding.
                counts = [name for name in point if name.startswith(way) and name.endswith("_transactions")]
                copies = sum(point[name] for name in counts)
                self.assertLessEqual(1000 * moved, rate * (point[f"{way}_busy_ns"] + copies), point["command"])

    def test_evicted_bytes_fit_the_evictions(self):
        for point in self.points:
            self.assertLessEqual(point["dtoh_evict_bytes"], point["evictions"] * BLOCK, point["command"])
            self.assertLessEqual(point["evictions_without_copy"], point["evictions"], point["command"])
            if point["capacity_bytes"] >= point["footprint_bytes"]:
                self.assertEqual(point["evictions"], 0, point["command"])

    def test_parts_add_up(self):
        for point in self.points:
            name = point["command"]
            self.assertEqual(point["read_fault_batches"] + point["write_fault_batches"], point["fault_batches"], name)
            self.assertLessEqual(point["unmerged_faults"], point["raw_faults"], name)
            self.assertLessEqual(point["faulting_pages"], point["unmerged_faults"], name)
            self.assertLessEqual(point["gmmu_l1_hits_4k"] + point["gmmu_l1_hits_64k"], point["gmmu_lookups"], name)
            self.assertGreaterEqual(point["kernel_ns"], point["kernel_compute_ns"] * 0.999, name)
            # Bytes that arrived and bytes that were created equal the bytes that left and those still resident, which
            # are at most the GPU's memory.
            came = sum(point[f"htod_{cause}_bytes"] for cause in ("fault", "prefetch", "user", "counter"))
            came += 4096 * point["populated_pages"]
            left = sum(point[f"dtoh_{cause}_bytes"] for cause in ("fault", "prefetch", "user", "evict"))
            self.assertGreaterEqual(came, left, name)


if __name__ == "__main__":
    unittest.main()
