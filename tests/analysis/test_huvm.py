# SPDX-License-Identifier: Apache-2.0
"""Tests of HUVM's bars and sweeps, with a model that returns prepared answers."""

import json
import os
import sys
import unittest

from commands import FolderTest, call

from analysis import huvm

# Milliseconds of the harvester by enabled parts; every part except large pages and parallel fetch saves time.
MODEL = '''
import json, sys
if sys.argv[1] == "systems":
    number = {"value": 100, "source": "assumed"}
    link = {"bytes_per_us": number, "run_ns": number}
    print(json.dumps({"host_links": [{"host_to_device": link, "device_to_host": link, "both_ways_bytes_per_us": 200}],
                      "peer_links": [{"each_way": {"bytes_per_us": 100}}]}))
    sys.exit()
assert sys.argv[1] == "scenario" and sys.argv[3:5] == ["--json", "-"], sys.argv
content = json.load(open(sys.argv[2]))
if content["system"] == "broken":
    sys.exit("error: no such system")
harvest = content["harvest"]
settings = content.get("settings", {})
ms = 100 if content["prefetch"] == "tree" else 60
ms -= 20 * harvest.get("victims", False) + 10 * harvest.get("pre_evict", False)
amount = harvest.get("prefetch_chunks", 16)
if harvest.get("prefetch", False):
    ms -= 5 + (amount / 4 if content["route"].startswith("multipath") else 0)
ms *= 2 if settings.get("peer_links.0.each_way.bytes_per_us") == 50 and harvest.get("victims", False) else 1
programs = []
# Times of iterations, together and alone: the first two end before the harvester begins.
def iterations(times):
    return [{"duration_ns": time, "end_ns": (index + 1) * 1000} for index, time in enumerate(times)]
for program in content["programs"]:
    repeat = program.get("repeat", False)
    counters = dict.fromkeys(("evictions", "evictions_to_peers", "pre_evictions", "parallel_fetches", "htod_fault_bytes",
                              "htod_prefetch_bytes", "chunk_prefetches_from_host", "chunk_prefetches_from_peers", "fault_batches",
                              "chunk_prefetches_to_peers", "chunk_prefetches_late", "chunk_prefetches_dropped", "spare_chunks_given_back",
                              *(f"htod_{cause}_bytes" for cause in ("user", "counter")),
                              *(f"dtod_{cause}_bytes" for cause in ("fault", "prefetch", "user", "evict"))), 0)
    counters["evictions"] = program.get("capacity_bytes", 0) >> 21
    programs.append({"name": program["name"], "repeat": repeat, "together_ns": int(ms * 1e6),
                     "start_ns": program.get("start_ns", 0),
                     "alone": None if "--no-alone" in sys.argv else {"iterations": iterations([1000, 1000, 1000, 1000])},
                     "together": {"iterations": iterations([3000, 1000, 1100, 1000, 999]), "counters": counters, "footprint_bytes": 3 << 20, "capacity_bytes": 200 << 21}})
print(json.dumps({"programs": programs}))
'''


class HuvmTest(FolderTest):
    def setUp(self):
        super().setUp()
        self.model = self.write("model", f"#!{sys.executable}\n{MODEL}")
        os.chmod(self.model, 0o755)
        self.scenario = self.write("case.json", json.dumps(self.content()))

    def content(self, system="server"):
        return {
            "system": system,
            "programs": [
                {"name": "a", "trace": "a.uvmt", "gpus": [0], "osf": 1.4, "start_ns": 2000},
                {"name": "b", "trace": "b.uvmt", "gpus": [1], "repeat": True},
            ],
        }

    def huvm(self, *arguments):
        return call(huvm.main, *arguments, "--uvmsim", self.model, "-j", "2")

    def test_prints_every_bar_and_what_says_why_one_brings_nothing(self):
        status, out, err = self.huvm(self.scenario)
        self.assertEqual((status, err), (0, ""))
        rows = {line.split()[1]: line.split() for line in out.splitlines() if line.startswith("case ")}
        self.assertEqual(list(rows), list(huvm.BARS))
        self.assertEqual(rows["Base"][2:5], ["100.0", "1.00", "0.45"])
        self.assertEqual(rows["+MPF"][2:5], ["21.0", "4.76", "2.14"])
        self.assertEqual(rows["+MPF"][-1], "5.00", "of the two iterations that end after the harvester has begun")
        self.assertEqual(rows["H+PE"][-1], "-")
        self.assertEqual(rows["Base+2MB"][2:5], ["60.0", "1.67", "0.75"])
        self.assertIn("H over Base+2MB: brings something, +50.0% at most (case)", out)
        self.assertIn("+LP over H+PE: brings no more than 5%, +0.0% at most (case)", out)
        self.assertIn("everything over pre_ef_host: 2.14 at most (case) does not exceed the paper's 2.71", out)
        self.assertIn("case: everything is 2.14 times as fast as pre_ef_host", out)
        self.assertIn("case: +PLF is as fast as +LP: 0 blocks were fetched over links of peers", out)
        self.assertNotIn("+MPF is as fast", out)

    def test_the_prefetch_sweep_has_all_amounts(self):
        status, out, _ = self.huvm(self.scenario, "--sweep", "prefetch", "--runs", "2")
        self.assertEqual(status, 0)
        self.assertRegex(out, r"case +stride 1 +0 +30\.0 +1\.00")
        self.assertRegex(out, r"case +stride 2 +32 +21\.0 +1\.43")

    def test_the_spare_sweep_gives_yielders_what_it_says(self):
        status, out, _ = self.huvm(self.scenario, "--sweep", "spare")
        self.assertEqual(status, 0)
        # Two blocks of its own, 60 % of 200.
        self.assertRegex(out, r"case +60 .* 122 +0 +0")

    def test_every_route_policy_has_a_row(self):
        status, out, _ = self.huvm(self.scenario, "--sweep", "route")
        self.assertEqual(status, 0)
        rows = [line.split() for line in out.splitlines() if line.startswith("case ")]
        self.assertEqual([row[1] for row in rows], list(huvm.ROUTES))
        self.assertEqual(rows[0][2:4], ["25.0", "1.00"])
        ms = {row[1]: row[2:4] for row in rows}
        self.assertEqual(ms["multipath:demand=true"], ["21.0", "1.19"])
        self.assertEqual({row[-1] for row in rows}, {"5.00"})

    def test_inputs_change_one_at_a_time(self):
        status, out, err = self.huvm(self.scenario, "--sweep", "inputs")
        self.assertEqual((status, err), (0, ""))
        rows = {line[6:32].strip(): line.split()[-4:] for line in out.splitlines() if line.startswith("case ")}
        self.assertEqual(rows["as it is"], ["45.0", "21.0", "2.86", "2.14"])
        self.assertEqual(rows["NVLink x 0.5"], ["45.0", "42.0", "1.43", "1.07"])
        self.assertEqual(rows["OSF 1.2"], rows["as it is"])

    def test_a_loss_needs_iterations(self):
        self.assertIsNone(huvm.loss({"start_ns": 0, "together": {"iterations": None}, "alone": {"iterations": None}}, 0))

    def test_targets_in_turn_stay_in_turn(self):
        content = huvm.Scenario(self.write("turn.json", json.dumps(dict(self.content(), route="round_robin"))))
        self.assertEqual(content.with_bar("H")["route"], "round_robin")
        self.assertEqual(content.with_bar("+MPF")["route"], "multipath:target=round_robin")
        self.assertEqual(content.with_bar("Base")["route"], "direct")

    def test_draws_figures(self):
        for sweep in ((), ("--sweep", "prefetch"), ("--sweep", "spare"), ("--sweep", "route"), ("--sweep", "inputs")):
            figure = self.path("figure" + "".join(sweep))
            status, out, err = self.huvm(self.scenario, *sweep, "-o", figure)
            self.assertEqual((status, err), (0, ""))
            self.assertIn(f"figure: {figure}.png", out)
            self.assertTrue(os.path.exists(figure + ".pdf"))

    def test_mistakes_are_one_line(self):
        self.assert_refused(huvm.main, self.path("none.json"), says="No such file")
        self.assert_refused(huvm.main, self.write("list.json", "[]"), says="not a scenario")
        broken = self.write("broken.json", json.dumps(self.content("broken")))
        self.assert_refused(huvm.main, broken, "--uvmsim", self.model, says="no such system")
        self.assert_refused(huvm.main, self.scenario, "--uvmsim", self.path("no_model"), says="No such file")


if __name__ == "__main__":
    unittest.main()
