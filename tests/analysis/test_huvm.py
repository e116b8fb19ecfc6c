"""HUVM's bars and sweeps, with a model that answers by what it is asked."""

import json
import os
import sys
import unittest

from commands import FolderTest, call

from analysis import huvm

# Milliseconds of the harvester by what is switched on; every part but large pages and parallel fetch brings something.
MODEL = '''
import json, sys
assert sys.argv[1] == "scenario" and sys.argv[3:5] == ["--json", "-"], sys.argv
content = json.load(open(sys.argv[2]))
if content["system"] == "broken":
    sys.exit("error: no such system")
harvest = content["harvest"]
ms = 100 if content["prefetch"] == "tree" else 60
ms -= 20 * harvest.get("victims", False) + 10 * harvest.get("pre_evict", False)
amount = harvest.get("prefetch_chunks", 16)
if harvest.get("prefetch", False):
    ms -= 5 + (amount / 4 if content["route"].startswith("multipath") else 0)
programs = []
for program in content["programs"]:
    repeat = program.get("repeat", False)
    counters = dict.fromkeys(("evictions", "evictions_to_peers", "pre_evictions", "parallel_fetches", "htod_fault_bytes",
                              "htod_prefetch_bytes", "chunk_prefetches_from_host", "chunk_prefetches_from_peers", "fault_batches",
                              "chunk_prefetches_to_peers", "chunk_prefetches_late", "chunk_prefetches_dropped",
                              *(f"htod_{cause}_bytes" for cause in ("user", "counter")),
                              *(f"dtod_{cause}_bytes" for cause in ("fault", "prefetch", "user", "evict"))), 0)
    counters["evictions"] = program.get("capacity_bytes", 0) >> 21
    programs.append({"name": program["name"], "repeat": repeat, "together_ns": int(ms * 1e6),
                     "slowdown_thousandths": None if "--no-alone" in sys.argv else 1012,
                     "together": {"counters": counters, "footprint_bytes": 3 << 20, "capacity_bytes": 200 << 21}})
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
                {"name": "a", "trace": "a.uvmt", "gpus": [0], "osf": 1.4},
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
        self.assertEqual(rows["+MPF"][-1], "1.2")
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
        self.assertEqual({row[-1] for row in rows}, {"1.2"})

    def test_targets_in_turn_stay_in_turn(self):
        content = huvm.Scenario(self.write("turn.json", json.dumps(dict(self.content(), route="round_robin"))))
        self.assertEqual(content.with_bar("H")["route"], "round_robin")
        self.assertEqual(content.with_bar("+MPF")["route"], "multipath:target=round_robin")
        self.assertEqual(content.with_bar("Base")["route"], "direct")

    def test_draws_figures(self):
        for sweep in ((), ("--sweep", "prefetch"), ("--sweep", "spare"), ("--sweep", "route")):
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
