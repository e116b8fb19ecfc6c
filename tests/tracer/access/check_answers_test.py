# SPDX-License-Identifier: Apache-2.0
"""The comparison of the kernels with known answers must find errors. usage: check_answers_test.py CHECKER"""
import copy
import json
import os
import subprocess
import sys
import tempfile

EXPECTED = [
    {"t": "alloc", "name": "a", "kind": "device", "va": 1 << 30, "bytes": 64 << 20},
    {"t": "launch", "name": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "graph": False, "unknown": 0, "counted": 10,
     "accesses": [[2097152, 8, 1], [2097160, 4, 3]], "blocks": [[0, [[16384, 1, 3]]]]},
    {"t": "launch", "name": "big", "grid": [3, 1, 1], "block": [32, 1, 1], "graph": False, "unknown": 5,
     "accesses": [[2097152, 98304, 2]], "blocks": [[b, [[16384 + 256 * b, 256, 2]]] for b in range(3)]},
    {"t": "memset", "va": 1 << 30, "bytes": 100},
]
LOG = [
    {"t": "header", "version": 1, "phases": 2},
    {"t": "alloc", "seq": 1, "va": 1 << 30, "bytes": 64 << 20, "kind": "device"},
    {"t": "launch", "seq": 2, "name": "k", "grid": [4, 1, 1], "block": [32, 1, 1], "patched": True,
     "accesses": [[2097152, 8, 1], [2097160, 4, 3]], "counts": [[16384, 10]], "order": [16384]},
    {"t": "launch", "seq": 3, "name": "other", "grid": [1, 1, 1], "block": [1, 1, 1], "patched": True, "accesses": []},
    {"t": "memset", "seq": 5, "va": 1 << 30, "bytes": 100, "stream": 0},
    # The order of lines may differ from the program's order.
    {"t": "launch", "seq": 4, "name": "big", "grid": [3, 1, 1], "block": [32, 1, 1], "patched": True, "unknown": 5,
     "accesses": [[2097152, 98304, 2]],
     "phases": [[0, 2, [[16384, 512, 2]]], [2, 1, [[16896, 256, 2]]]]},
    {"t": "free", "seq": 6, "va": 1 << 30, "kind": "device"},
    {"t": "end", "events": 6, "dropped": 0},
]


def run(checker, log):
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, lines in (("expected", EXPECTED), ("log", log)):
            paths.append(os.path.join(folder, name))
            with open(paths[-1], "w", encoding="utf-8") as out:
                out.writelines(json.dumps(line) + "\n" for line in lines)
        done = subprocess.run([sys.executable, checker, *paths], capture_output=True, text=True, check=False)
        last = done.stdout.strip().splitlines()[-1] if done.stdout.strip() else done.stderr
        return done.returncode, last


def main():
    checker = sys.argv[1]
    failures = []

    def expect(what, log, passes):
        code, last = run(checker, log)
        if (code == 0) != passes or last != ("PASS" if passes else "FAIL"):
            failures.append(f"{what}: exit status {code}, {last}")

    expect("a good log", LOG, True)
    changes = {
        "a missing quantum": lambda log: log[2].update(accesses=[[2097152, 7, 1], [2097160, 4, 3]]),
        "an extra quantum": lambda log: log[2].update(accesses=[[2097151, 9, 1], [2097160, 4, 3]]),
        "a read where a write was": lambda log: log[2].update(accesses=[[2097152, 12, 1]]),
        "a read too many": lambda log: log[5].update(accesses=[[2097152, 98303, 2], [2195455, 1, 3]]),
        "an unpatched launch": lambda log: log[2].update(patched=False),
        "unknown accesses": lambda log: log[2].update(unknown=1, unknown_at=[4096]),
        "fewer unknown accesses": lambda log: log[5].update(unknown=4),
        "another grid": lambda log: log[2].update(grid=[5, 1, 1]),
        "a launch of a graph": lambda log: log[2].update(node=1),
        "other counts": lambda log: log[2].update(counts=[[16384, 11]]),
        "another order": lambda log: log[2].update(order=[16385]),
        "no phases": lambda log: log[5].pop("phases"),
        "a shifted phase": lambda log: log[5]["phases"][0].__setitem__(1, 1),
        "a page in the wrong phase": lambda log: log[5]["phases"][1][2].append([16384, 1, 2]),
        "another allocation": lambda log: log[1].update(bytes=1),
        "another memset": lambda log: log[4].update(bytes=1),
        "a free of another kind": lambda log: log[6].update(kind="pool"),
        "no launches": lambda log: log.__delitem__(slice(2, None)),
    }
    for what, change in changes.items():
        log = copy.deepcopy(LOG)
        change(log)
        expect(what, log, False)
    print("\n".join(failures) or f"{len(changes) + 1} cases")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
