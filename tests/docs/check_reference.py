# SPDX-License-Identifier: Apache-2.0
"""Checks that the site's reference contains everything that the code has. The names are read from other sources than
those from which the reference is made: help texts, sources, schemas, headers of result files.

    check_reference.py UVMSIM HTML [--without TEXT]     as if TEXT were nowhere in the reference
"""

import html
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
uvmsim, site = sys.argv[1], Path(sys.argv[2])
without = sys.argv[4] if len(sys.argv) > 4 else None
problems = []


def output_of(*arguments):
    return subprocess.run([uvmsim, *map(str, arguments)], check=True, stdout=subprocess.PIPE, text=True).stdout


def page(name):
    text = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r"(?s)<(script|style).*?</\1>", "", (site / f"docs/reference/{name}.html").read_text())))
    return text.replace(without, "") if without else text


def words(text):
    """Returns names, divided at dots and brackets, so that `costs.batch_ns` counts for `batch_ns`."""
    return {run.strip() for run in re.findall(r"[A-Za-z0-9_\-/ ]+", text)} | set(re.findall(r"[A-Za-z0-9_\-]+", text))


def expect(kind, names, text):
    have = words(text)
    for name in names:
        if name not in have:
            problems.append(f"{kind} {name} is missing")


def check_commands():
    listed = re.findall(r"^  ([a-z-]+)  +\S", output_of("--help").split("\nCommands:\n")[1], re.MULTILINE)
    if len(listed) < 10:
        sys.exit("uvmsim --help lists no commands")
    for command in listed:
        name = f"uvmsim-{command}"
        if not (site / f"docs/reference/{name}.html").exists() or without == f"{name}.html":
            problems.append(f"the page of uvmsim {command} is missing")
            continue
        text = page(name)
        helps = [output_of(command, "--help")]
        verbs = set(re.findall(rf"^uvmsim {command} ([a-z]+) [A-Z]", helps[0], re.MULTILINE))
        if "\nVerbs:\n" in helps[0]:
            verbs |= set(re.findall(r"^  ([a-z]+)  +\S", helps[0].split("\nVerbs:\n")[1], re.MULTILINE))
        for verb in sorted(verbs):
            expect("verb", [f"uvmsim {command} {verb}"], text.replace("\n", ". "))
            helps.append(output_of(command, verb, "--help"))
        for one in helps:
            options = re.findall(r"^  (?:-\w \[ )?(--[a-z0-9-]+)", one, re.MULTILINE)
            # A key in the help's own text does not count; it must be in the row of the table.
            table = text[text.find("option\n") :]
            expect(f"uvmsim {command}:", options, table)


def keys_of(schema):
    if isinstance(schema, dict):
        properties = schema.get("properties")
        if isinstance(properties, dict):
            yield from properties
        for value in schema.values():
            yield from keys_of(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from keys_of(value)


def check_keys():
    text = page("files")
    names = ["system", "sweep", "scenario"]
    starts = [text.index(f"{name}.schema.json is the schema") for name in names] + [len(text)]
    for number, name in enumerate(names):
        section = text[starts[number] : starts[number + 1]]
        schema = json.loads((REPOSITORY / "configs" / f"{name}.schema.json").read_text())
        # The form of a figure with value and source is described once, as text.
        expect(f"{name} file: key", sorted(set(keys_of(schema)) - {"value", "$schema"}), section)


def check_columns():
    text = page("columns")
    with tempfile.TemporaryDirectory() as folder:
        trace, spec = Path(folder, "t.uvmt"), Path(folder, "s.json")
        output_of("trace", "generate", "sequential", "--bytes", "4MiB", "-o", trace)
        result = json.loads(output_of("run", trace, "--system", "h200-sxm-pcie5", "--json", "-"))
        csv = output_of("run", trace, "--system", "h200-sxm-pcie5", "--csv", "-").splitlines()[0].split(",")
        spec.write_text(json.dumps({"traces": "t.uvmt", "systems": "h200-sxm-pcie5"}))
        output_of("sweep", spec, "-o", Path(folder, "s"))
        csv += Path(folder, "s", "results.csv").read_text().splitlines()[0].split(",")
    expect("CSV column", csv, text)
    counters = list(result["counters"])
    if len(counters) < 50:
        sys.exit("a result has no counters")
    expect("counter", counters, text)


def check_policies():
    text = page("policies")
    spelt = {line.split()[1] for line in output_of("policies").splitlines() if re.match(r"(prefetch|evict|plan|migrate|route|schedule) ", line)}
    expect("policy", sorted(spelt), text)
    for policy in json.loads(output_of("policies", "--json"))["policies"]:
        expect(f"policy {policy['name']}: parameter", [one["name"] for one in policy["parameters"]], text)
    expect("layout", re.findall(r"^([a-z_]+)  ", output_of("layouts"), re.MULTILINE), text)
    expect("system", [path.stem for path in (REPOSITORY / "configs/systems").glob("*.json")], page("systems"))


check_commands()
check_keys()
check_columns()
check_policies()
for problem in problems:
    print(problem, file=sys.stderr)
print("the reference is complete" if not problems else f"{len(problems)} missing")
sys.exit(1 if problems else 0)
