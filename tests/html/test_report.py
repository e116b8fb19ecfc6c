# SPDX-License-Identifier: Apache-2.0
"""Tests of `uvmsim report` as a command: inputs that it takes and refuses; names of files are never more than text."""

import hashlib
import html.parser
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from made_up import HOSTILE, write_hostile_results, write_results, write_whole_profile

UVMSIM = os.environ["UVMSIM_COMMAND"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
SYSTEM = ["--system", "h200-sxm-pcie5"]


class Parts(html.parser.HTMLParser):
    """Collects tags, and the text in each."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.data, self.open = [], {}, None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.open = tag if tag in ("script", "style", "title", "p", "h3", "code") else self.open

    def handle_data(self, text):
        self.data.setdefault(self.open, []).append(text)


class ReportTest(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory(prefix="uvmsim_report_")
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)

    def run_command(self, *arguments):
        return subprocess.run([UVMSIM, *arguments], cwd=self.folder, capture_output=True, text=True, timeout=300)

    def page(self, *inputs):
        done = self.run_command("report", *inputs, "-o", "o.html")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return (self.folder / "o.html").read_text()

    def data(self, page):
        text = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1)
        return json.loads(text)

    def refused(self, *arguments, words, before=None):
        done = self.run_command("report", *arguments)
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith("uvmsim: error: "), done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse((self.folder / "o.html").exists())
        self.assertEqual([name for name in os.listdir(self.folder) if ".tmp-" in name], [])

    def test_the_numbers_are_those_of_the_results(self):
        write_results(self.folder / "r.jsonl")
        points = self.data(self.page("r.jsonl"))["points"]
        rows = [dict(zip(points["columns"], row)) for row in points["rows"]]
        results = [json.loads(line) for line in (self.folder / "r.jsonl").read_text().splitlines()]
        self.assertEqual(len(rows), len(results))
        self.assertEqual(points["panels"], ["gpt2", "resnet50"])
        self.assertEqual(len(points["series"]), 4)
        for row, result in zip(rows, results):
            counters = result["settled"]["counters"]
            self.assertEqual(row["time_ns"], result["settled"]["duration_ns"])
            self.assertEqual(row["htod_bytes"], counters["htod_fault_bytes"] + counters["htod_prefetch_bytes"])
            self.assertEqual(row["slowdown"], result["slowdown_thousandths"])
            self.assertEqual(row["evictions"], counters["evictions"])
            self.assertEqual(points["panels"][row["panel"]] + ".uvmt", result["trace"]["file"])
            self.assertIn(result["policies"]["evict"]["name"], points["series"][row["series"]])

    def test_the_summary_says_what_the_numbers_do(self):
        write_results(self.folder / "r.jsonl")
        page = self.page("r.jsonl")
        # gpt2 under tree and lrm at 3: 1 + 2 * 6 times as long; 6e9 bytes in.
        for words in ("At OSF 3 (3.10 GiB) it takes 1,300 ms, 13.0 times as long", "5.59 GiB to the GPU (60 % of the footprint)",
                      "memory, not computing", "92 % of their time is waiting", "At OSF 3, none of 3 alternatives is faster than",
                      "One seed each", "Of 72 points 72 are means of settled iterations. Seeds: 1, 2, 3."):  # fmt: skip
            self.assertIn(words, page)

    def test_factors_are_rounded(self):
        for thousandths, text in ((1149, "1.15"), (1144, "1.14"), (9994, "9.99"), (9996, "10.0"), (99949, "99.9"), (99960, "100")):

            def change(result, thousandths=thousandths):
                if result["limit"]["osf_thousandths"] == 3000 and result["unlimited"]:
                    result["settled"]["duration_ns"] = result["unlimited"]["settled_ns"] * thousandths // 1000
                    result["slowdown_thousandths"] = thousandths

            write_results(self.folder / "r.jsonl", change)
            self.assertIn(f", {text} times as long as under the driver", self.page("r.jsonl"))
            (self.folder / "o.html").unlink(missing_ok=True)

    def test_results_and_sweep_and_league_of_the_command(self):
        run, recorded = self.run_command, ("--iterations", "recorded")
        self.assertEqual(run("trace", "generate", "zigzag", "--bytes", "16MiB", "--kernels", "3", "--repeats", "3", "-o", "a.uvmt").returncode, 0)
        self.assertEqual(run("run", "a.uvmt", *SYSTEM, *recorded, "--osf", "1,2", "--bounds", "--json", "r.jsonl", ).returncode, 0)
        self.assertEqual(run("run", "a.uvmt", *SYSTEM, *recorded, "--osf", "2", "--profile", "a.profile").returncode, 0)
        (self.folder / "s.json").write_text(json.dumps({"traces": "a.uvmt", "systems": "h200-sxm-pcie5", "iterations": "recorded", "osf": [2], "evict": ["lrm", "random"], "seeds": [1, 2]}))
        dry = run("sweep", "s.json", "--dry-run", "-o", "s")
        self.assertEqual(dry.returncode, 0, dry.stderr)
        self.assertRegex(dry.stdout, r"points.*, [1-9]\d* to compute\n")
        self.assertFalse((self.folder / "s").exists(), "a dry run writes nothing")
        self.assertEqual(run("sweep", "s.json", "-o", "s").returncode, 0)
        self.assertIn(", 0 to compute\n", run("sweep", "s.json", "--dry-run", "-o", "s").stdout)
        self.assertEqual(run("league", "a.uvmt", *SYSTEM, *recorded, "--osf", "2", "--evict", "lru", "-o", "l").returncode, 0)
        page = self.page("r.jsonl", "a.profile", "s", "l")
        self.assertLess(len(page), 5 << 20)
        data = self.data(page)
        self.assertEqual(len(data["points"]["rows"]), 2 + 4 + 2)
        self.assertEqual(len(data["league"]["overall"]), 2)
        result = json.loads((self.folder / "r.jsonl").read_text().splitlines()[1])
        row = dict(zip(data["points"]["columns"], data["points"]["rows"][1]))
        for key in ("necessary_bytes_ns", "excess_bytes_ns", "fault_latency_ns", "serialisation_ns"):
            self.assertEqual(row[key], result["bounds"]["distance"][key])
        self.assertEqual(row["bound_ns"], result["bounds"]["best_ns"])
        self.assertEqual(row["command"], result["command"])
        # The sweep's database has the same numbers as its points.
        database = sqlite3.connect(self.folder / "s" / "results.sqlite")
        self.addCleanup(database.close)
        expected = database.execute("SELECT slowdown_thousandths, settled_ns, command FROM points WHERE asked ORDER BY position").fetchall()
        rows = [dict(zip(data["points"]["columns"], one)) for one in data["points"]["rows"][2:6]]
        self.assertEqual([(r["slowdown"], r["time_ns"], r["command"]) for r in rows], expected)
        profile = data["profiles"][0]
        stalls = [row[profile["kernels"]["columns"].index("stall_ns")] for row in profile["kernels"]["rows"]]
        self.assertEqual(stalls, sorted(stalls, reverse=True))
        again = sqlite3.connect(self.folder / "a.profile")
        self.addCleanup(again.close)
        (whole,) = again.execute("SELECT SUM(stall_ns) FROM kernels WHERE iteration = 2").fetchone()
        self.assertEqual(sum(stalls), whole)
        for word in (hashlib.sha256((self.folder / "r.jsonl").read_bytes()).hexdigest(), "uvmsim report r.jsonl a.profile s l -o o.html"):
            self.assertIn(word, page)

    def test_the_same_inputs_give_the_same_bytes(self):
        write_results(self.folder / "r.jsonl")
        write_whole_profile(self.folder / "p.profile")
        first = self.page("r.jsonl", "p.profile")
        self.assertEqual(self.page("r.jsonl", "p.profile"), first)
        self.assertEqual(self.run_command("report", "r.jsonl", "-o", "-").stdout.count("<!DOCTYPE html>"), 1)
        shutil.copytree(self.folder, self.folder / "elsewhere")
        self.assertNotIn(str(self.folder), first)

    def test_names_are_never_markup(self):
        write_hostile_results(self.folder / "evil.jsonl")
        write_whole_profile(self.folder / "evil.profile", HOSTILE)
        page = self.page("evil.jsonl", "evil.profile")
        tags = Parts(page).tags
        self.assertEqual([tag for tag, _ in tags if tag in ("img", "iframe", "object", "link", "base", "form")], [])
        self.assertEqual(len([1 for tag, _ in tags if tag == "script"]), 4)
        self.assertFalse([name for _, attributes in tags for name in attributes if name.startswith("on")])
        self.assertEqual(re.findall(r'(?:src|href)="(?!#)', page), [])
        data = re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1)
        self.assertNotRegex(data, "[<>&\x00-\x1f\x7f-\U0010ffff]")

    def test_bytes_that_are_no_text(self):
        write_results(self.folder / "r.jsonl")
        text = (self.folder / "r.jsonl").read_bytes().replace(b'"a100-pcie-80g"', b'"\xff\xfe<b>\\u001b[31m"')
        (self.folder / "r.jsonl").write_bytes(text)
        done = self.run_command("report", "r.jsonl", "-o", "o.html")
        # JSON must be UTF-8: the input is either refused in one line, or the page is UTF-8 nevertheless.
        if done.returncode == 2:
            self.assertEqual(done.stderr.count("\n"), 1)
        else:
            (self.folder / "o.html").read_bytes().decode("utf-8")
        profile = write_whole_profile(self.folder / "p.profile")
        with sqlite3.connect(profile) as connection:
            connection.execute("UPDATE names SET name = CAST(x'ff3c623eff' AS TEXT)")
        connection.close()
        self.assertNotIn("<b>", (self.page("p.profile")))

    def test_bad_input_is_one_line(self):
        write_results(self.folder / "r.jsonl")
        write_whole_profile(self.folder / "p.profile")
        (self.folder / "empty").write_text("")
        (self.folder / "text").write_text("no results\n")
        (self.folder / "old.jsonl").write_text('{"schema": "uvmsim.result/1"}\n')
        (self.folder / "league.json").write_text('{"schema": "uvmsim.league/2", "overall": 1}')
        write_results(self.folder / "long.jsonl", lambda result: result["trace"].update(file="</script>" * 1000))
        (self.folder / "big").write_bytes(b"[" * (10 << 20))
        for name in "abcd":
            write_whole_profile(self.folder / f"{name}.profile", name)
        (self.folder / "folder").mkdir()
        (self.folder / "cut.profile").write_bytes((self.folder / "p.profile").read_bytes()[:5000])
        sqlite3.connect(self.folder / "other.sqlite").execute("CREATE TABLE t (x)").connection.close()
        cases = (
            ([], ["no results given"]), (["r.jsonl"], ["--output"]), (["-", "-o", "o.html"], ["standard input"]),
            (["none", "-o", "o.html"], ["none"]), (["empty", "-o", "o.html"], ["empty"]), (["text", "-o", "o.html"], ["text", "line 1"]),
            (["old.jsonl", "-o", "o.html"], ["uvmsim.result/1"]), (["league.json", "-o", "o.html"], ["league.json"]),
            (["folder", "-o", "o.html"], ["folder", "results.sqlite"]), (["cut.profile", "-o", "o.html"], ["cut.profile"]),
            (["other.sqlite", "-o", "o.html"], ["other.sqlite"]), (["r.jsonl", "r.jsonl", "-o", "o.html"], ["same as r.jsonl", "once"]),
            (["long.jsonl", "-o", "o.html"], ["trace.file", "4096"]), (["big", "-o", "o.html"], ["big", "line 1"]),
            ([f"{n}.profile" for n in "abcd"] + ["-o", "o.html"], ["up to 3"]),
            (["r.jsonl", "-o", "none/o.html"], ["none/o.html"]), (["r.jsonl", "-o", "folder"], ["folder"]),
        )  # fmt: skip
        for arguments, words in cases:
            with self.subTest(arguments):
                self.refused(*arguments, words=words)
        for name in ("r.jsonl", "p.profile"):
            before = (self.folder / name).read_bytes()
            self.refused(name, "-o", name, words=["input"])
            self.assertEqual((self.folder / name).read_bytes(), before)

    def test_an_unfinished_sweep_is_asked_for_and_marked(self):
        self.assertEqual(self.run_command("trace", "generate", "zigzag", "--bytes", "8MiB", "-o", "a.uvmt").returncode, 0)
        (self.folder / "s.json").write_text(json.dumps({"traces": "a.uvmt", "systems": "h200-sxm-pcie5", "osf": [1, 2]}))
        self.run_command("sweep", "plan", "s.json", "-o", "s")
        self.run_command("sweep", "run", "s", "--shard", "1/2")
        self.run_command("sweep", "collect", "s", "--partial")
        self.refused("s", "-o", "o.html", words=["--partial"])
        self.refused("s/results.partial.sqlite", "-o", "o.html", words=["finished"])
        page = self.page("s", "--partial")
        self.assertIn("Not whole:", page)
        self.assertIn("not run", page)

    def test_five_hundred_points_are_less_than_5_mb(self):
        write_results(self.folder / "one.jsonl")
        lines = (self.folder / "one.jsonl").read_text().splitlines()
        with open(self.folder / "many.jsonl", "w", encoding="utf-8") as file:
            for number in range(500):
                result = json.loads(lines[number % len(lines)])
                result["seed"] = number
                file.write(json.dumps(result) + "\n")
        write_whole_profile(self.folder / "p.profile")
        self.assertLess(len(self.page("many.jsonl", "p.profile").encode()), 5_000_000)

    def test_the_libraries_are_those_that_were_taken(self):
        for line in (ROOT / "third_party" / "SHA256SUMS").read_text().splitlines():
            digest, name = line.split()
            self.assertEqual(hashlib.sha256((ROOT / "third_party" / name).read_bytes()).hexdigest(), digest, name)


if __name__ == "__main__":
    unittest.main()
