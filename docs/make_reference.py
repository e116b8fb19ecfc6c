# SPDX-License-Identifier: Apache-2.0
"""Writes the reference pages of the site from what the commands and the schemas say of themselves.

    python3 docs/make_reference.py UVMSIM UVMTRACE FOLDER

FOLDER lies in a copy of the repository (build.sh). UVMTRACE is left out where that file is missing, and the page says so.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
SCHEMAS = {  # the file that a schema describes, and the page that explains it
    "system": ("A system file: one GPU server", "configs/README.md", "--system"),
    "sweep": ("A sweep file: a grid of runs", "sim/sweep/README.md", "uvmsim sweep"),
    "scenario": ("A scenario file: several programs on one server", "configs/scenarios/README.md", "uvmsim scenario"),
}


def output_of(*command):
    return subprocess.run([str(part) for part in command], check=True, stdout=subprocess.PIPE, text=True).stdout


def json_of(*command):
    return json.loads(output_of(*command))


def cell(text):
    """In a table of Markdown, as it stands."""
    return re.sub(r"([|<>*_`\[\]\\])", r"\\\1", " ".join(str(text).split()))


def code(text):
    return "`" + str(text).replace("|", "\\|") + "`" if str(text) else ""


def table(titles, rows):
    lines = ["| " + " | ".join(titles) + " |", "|" + "---|" * len(titles)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows]) + "\n"


def options_table(options):
    rows = []
    for option in options:
        name = "--" + option["name"] + (" " + option["value"] if option["value"] else "")
        names = ([code("-" + option["short_name"])] if option["short_name"] else []) + [code(name)]
        rows.append([", ".join(names), cell(option["meaning"])])
    return table(["option", "meaning"], rows)


def help_without_options(text):
    lines, in_options = [], False
    for line in text.splitlines():
        if line in ("Options:", "options:"):
            in_options = True
        elif not (in_options and line.startswith(" ")):
            in_options = False
            lines.append(line)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip("\n")


def command_page(program, command, verbs):
    parts = [f"# {program} {command['name']}\n"]
    if command["summary"]:
        parts.append(cell(command["summary"]) + "\n")
    parts.append("```text\n" + help_without_options(command["help"]) + "\n```\n")
    parts.append(options_table(command["options"]))
    for verb in verbs:
        parts.append(f"## {program} {verb['name']}\n")
        if verb["help"] != command["help"]:
            parts.append("```text\n" + help_without_options(verb["help"]) + "\n```\n")
        parts.append(options_table(verb["options"]))
    return "\n".join(parts)


def write_commands(folder, programs):
    index = ["# Commands\n", "Every command with its help and options, as the command itself tells them.\n"]
    pages = []
    for document in programs:
        program, commands = document["program"], document["commands"]
        index += [f"## {program}\n", cell(document["purpose"]) + "\n"]
        verbs = {one["name"]: [] for one in commands if " " not in one["name"]}
        for one in commands:
            if " " in one["name"]:
                verbs[one["name"].split(" ")[0]].append(one)
        rows = []
        for one in commands:
            if one["name"] not in verbs:
                continue
            page = f"{program}-{one['name']}"
            (folder / f"{page}.md").write_text(command_page(program, one, verbs[one["name"]]))
            pages.append(page)
            rows.append([f"[{program} {one['name']}]({page}.md)", cell(one["summary"])])
        index.append(table(["command", "purpose"], rows))
    if len(programs) == 1:
        index.append("`uvmtrace` was not built when this site was made; `uvmtrace --help` lists its commands.\n")
    (folder / "commands.md").write_text("\n".join(index) + toctree(pages))


def toctree(pages):
    return "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def resolved(schema, root):
    while "$ref" in schema:
        target = root
        for part in schema["$ref"].lstrip("#/").split("/"):
            target = target[part]
        schema = {**target, **{key: value for key, value in schema.items() if key != "$ref"}}
    return schema


def allowed(schema, root):
    """Describes the allowed values in words."""
    schema = resolved(schema, root)
    if "enum" in schema:
        return ", ".join(json.dumps(value) for value in schema["enum"])
    if "const" in schema:
        return json.dumps(schema["const"])
    for key in ("anyOf", "oneOf"):
        if key in schema:
            kinds = []
            for one in schema[key]:
                words = allowed(one, root)
                if words not in kinds:
                    kinds.append(words)
            return "; or ".join(kinds)
    kind = schema.get("type", "")
    if isinstance(kind, list):
        return " or ".join(kind)
    if kind == "array":
        return "list of: " + allowed(schema.get("items", {}), root)
    if kind in ("integer", "number"):
        low, high = schema.get("minimum"), schema.get("maximum")
        if low is not None and high is not None:
            return f"{kind}, {low} to {high}"
        return kind if low is None else f"{kind}, at least {low}"
    if kind == "object" and isinstance(schema.get("properties"), dict) and set(schema["properties"]) == {"value", "source"}:
        return allowed(schema["properties"]["value"], root) + ", with its source"
    return kind or "any value"


def keys_of(schema, root, path="", seen=()):
    """Rows (key, allowed, meaning) of an object and of what lies in it."""
    schema = resolved(schema, root)
    rows = []
    for name, value in schema.get("properties", {}).items():
        whole = resolved(value, root)
        key = f"{path}{name}"
        rows.append((key, allowed(whole, root), whole.get("description", value.get("description", ""))))
        rows += inner_keys(whole, root, key, seen)
    return rows


def inner_keys(schema, root, key, seen):
    schema = resolved(schema, root)
    mark = json.dumps(schema, sort_keys=True)
    if mark in seen:
        return []  # a grid's keys are those of the file
    seen = (*seen, mark)
    rows = []
    for one in [schema, *schema.get("anyOf", []), *schema.get("oneOf", [])]:
        one = resolved(one, root)
        if one.get("type") == "array":
            rows += inner_keys(one.get("items", {}), root, key + "[]", seen)
        elif one.get("properties"):
            if set(one["properties"]) != {"value", "source"}:
                rows += keys_of(one, root, key + ".", seen)
    unique = []
    for row in rows:
        if row not in unique:
            unique.append(row)
    return unique


def write_files(folder, uvmsim):
    parts = ["# Keys of files\n",
             "Every key of the files that `uvmsim` reads, from their JSON schemas. `a.b` is key `b` of the object `a`, `a[]` "
             "an element of the list `a`. What `uvmsim systems NAME` prints and `--set` takes are the same keys.\n"]  # fmt: skip
    for name, (title, page, command) in SCHEMAS.items():
        schema = json.loads((REPOSITORY / "configs" / f"{name}.schema.json").read_text())
        parts += [f"## {title}\n",
                  f"For `{command}`; [{page}](../../{page}) explains it, "
                  f"[{name}.schema.json](../../configs/{name}.schema.json) is the schema.\n"]  # fmt: skip
        rows = [[code(key), cell(values), cell(meaning)] for key, values, meaning in keys_of(schema, schema)]
        parts.append(table(["key", "values", "meaning"], rows))
    parts += ["## A trace as JSON lines\n",
              "One record per line, its type under `t`; [sim/trace](../../sim/trace/README.md) explains it. "
              "`uvmsim trace fields` lists the same.\n"]  # fmt: skip
    records = {}
    for field in json_of(uvmsim, "trace", "fields", "--json")["fields"]:
        records.setdefault(field["record"], []).append(
            [code(field["key"]), field["presence"], cell(field["value"]), cell(field["meaning"])])  # fmt: skip
    for record, rows in records.items():
        parts += [f"### {record}\n", table(["key", "presence", "values", "meaning"], rows)]
    (folder / "files.md").write_text("\n".join(parts))


def write_columns(folder, uvmsim):
    terms = json_of(uvmsim, "run", "--explain-columns", "--json", "-")["terms"]
    titles = {"table": "Columns of tables", "column": "Columns of CSV files, keys of JSON", "counter": "Counters"}
    parts = ["# Columns and counters\n",
             "What `uvmsim run --explain-columns` says. [sim/report](../../sim/report/README.md) describes the files, "
             "[sim/sweep](../../sim/sweep/README.md) the database of a sweep.\n"]  # fmt: skip
    for kind, title in titles.items():
        rows = [[", ".join(code(name) for name in term["name"].split(", ")), cell(term["meaning"])]
                for term in terms if term["kind"] == kind]  # fmt: skip
        parts += [f"## {title}\n", table(["name", "meaning"], rows)]
    (folder / "columns.md").write_text("\n".join(parts))


def parameter_rows(parameters):
    rows = []
    for one in parameters:
        values = one["type"]
        if "minimum" in one:
            values += f", {one['minimum']} to {one['maximum']}"
        if "choices" in one:
            values = ", ".join(one["choices"])
        default = one["default"]
        rows.append([code(one["name"]), code(json.dumps(default) if isinstance(default, bool) else default), cell(values),
                     cell(one["doc"])])  # fmt: skip
    return rows


def write_policies(folder, uvmsim):
    policies = json_of(uvmsim, "policies", "--json")["policies"]
    layouts = json_of(uvmsim, "layouts", "--json")["layouts"]
    slots = list(dict.fromkeys(policy["slot"] for policy in policies))
    parts = ["# Policies and layouts\n",
             "What `uvmsim policies` and `uvmsim layouts` list. `--prefetch tree:threshold=75` gives a policy a parameter. "
             "The information class says what a policy may know: D0 faults and migrations, D1 access counters, D2 access "
             "bits, D3 hints, D4 the future.\n"]  # fmt: skip
    for slot in slots:
        parts.append(f"## Slot `{slot}`\n")
        for policy in (one for one in policies if one["slot"] == slot):
            parts += [f"### {slot} {policy['name']}\n",
                      f"{cell(policy['description'])}. Class {policy['information_class']}; {cell(policy['source'])}.\n"]  # fmt: skip
            if policy["parameters"]:
                parts.append(table(["parameter", "default", "values", "meaning"], parameter_rows(policy["parameters"])))
    parts.append("## Layouts\n")
    for layout in layouts:
        parts += [f"### layout {layout['name']}\n",
                  f"{cell(layout['description'])}. Footprint: {cell(layout['footprint'])}. Source: {cell(layout['source'])}.\n"]  # fmt: skip
        if layout["parameters"]:
            parts.append(table(["parameter", "default", "values", "meaning"], parameter_rows(layout["parameters"])))
    (folder / "policies.md").write_text("\n".join(parts))


def write_systems(folder, uvmsim):
    systems = json_of(uvmsim, "systems", "--json")["systems"]
    rows = []
    for system in systems:
        path = Path(system["path"])
        if path.parent != REPOSITORY / "configs" / "systems":
            sys.exit(f"make_reference.py: error: system {system['name']} comes from {path}, not from this repository")
        rows.append([f"[{system['name']}](../../configs/systems/{path.name})", cell(system["description"])])
    text = ("# Systems\n\nThe GPU servers that come with uvmsim. `uvmsim systems NAME` prints every number of one with its unit, "
            "source and meaning; [Keys of files](files.md) lists the keys.\n\n")  # fmt: skip
    (folder / "systems.md").write_text(text + table(["system", "what"], rows))


def write_tree(folder):
    """Links to every page that lies beside the sources."""
    mirror = folder.parents[1]
    pages = sorted(path.relative_to(mirror) for path in mirror.rglob("*.md"))
    rows = []
    for page in pages:
        if page.parts[0] == "docs" or page.parts[0].startswith("."):
            continue
        title = next((line.lstrip("# ").strip() for line in (mirror / page).read_text().splitlines() if line.startswith("#")), "")
        rows.append([f"[{page}](../../{page})", cell(title.replace("`", ""))])
    text = "# Pages beside the sources\n\nWhat a folder of the repository holds and how it works, for those who read or change it.\n\n"
    (folder / "tree.md").write_text(text + table(["page", "title"], rows))


def main():
    uvmsim, uvmtrace, folder = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
    folder.mkdir(parents=True)
    commands = [uvmsim] + ([uvmtrace] if uvmtrace.exists() else [])
    write_commands(folder, [json_of(command, "manual", "--json") for command in commands])
    write_files(folder, uvmsim)
    write_columns(folder, uvmsim)
    write_policies(folder, uvmsim)
    write_systems(folder, uvmsim)
    write_tree(folder)


if __name__ == "__main__":
    main()
