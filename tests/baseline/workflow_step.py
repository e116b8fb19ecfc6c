# SPDX-License-Identifier: Apache-2.0
"""Prints the commands of one step of a workflow file; fails when the file is no workflow or has no such step."""

import sys

import yaml


def main(path, name):
    with open(path, encoding="utf-8") as file:
        workflow = yaml.safe_load(file)
    # YAML 1.1 reads the key "on" as true.
    assert workflow["name"] and (workflow.get("on") or workflow.get(True)), workflow.keys()
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    assert all(("run" in step) != ("uses" in step) for step in steps), steps
    chosen = [step["run"] for step in steps if step.get("name") == name and "run" in step]
    assert len(chosen) == 1, f"{path}: {len(chosen)} steps named {name!r}"
    print(chosen[0])


main(*sys.argv[1:])
