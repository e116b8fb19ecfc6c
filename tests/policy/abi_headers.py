# SPDX-License-Identifier: Apache-2.0
"""A plug-in that was built against other headers than the command's must not load, so the ABI number increases with
every change to
the headers that a plug-in sees. This test compares the headers behind sim/policy/registry.h, without comments and
white space,
with the hash recorded for the number in sim/policy/plugin_abi.h.

usage: abi_headers.py SOURCE_DIR [--record]
"""

import hashlib
import pathlib
import re
import sys

ABI_HEADER = "sim/policy/plugin_abi.h"
RECORD = "tests/policy/abi_headers.txt"  # a line per number: the number, the SHA-256 of its headers


def headers_behind(source, start):
    """Returns `start` and the project headers that it includes, directly or indirectly."""
    found, todo = set(), [start]
    while todo:
        header = todo.pop()
        if header in found or header == ABI_HEADER:
            continue
        found.add(header)
        todo += re.findall(r'^#include "([^"]+)"', (source / header).read_text(), re.M)
    return sorted(found)


def fingerprint(source):
    digest = hashlib.sha256()
    for header in headers_behind(source, "sim/policy/registry.h"):
        code = re.sub(r"//[^\n]*", "", (source / header).read_text())
        digest.update(f"{header}\n{''.join(code.split())}\n".encode())
    return digest.hexdigest()


def main():
    source = pathlib.Path(sys.argv[1])
    number = re.search(r"kPluginAbiVersion = (\d+);", (source / ABI_HEADER).read_text()).group(1)
    record = source / RECORD
    known = dict(line.split() for line in record.read_text().splitlines()) if record.exists() else {}
    now = fingerprint(source)
    if "--record" in sys.argv[2:] and number not in known:
        with record.open("a") as out:
            out.write(f"{number} {now}\n")
        return 0
    if known.get(number) == now:
        return 0
    if number in known:
        print(f"the headers that plug-ins see changed, and kPluginAbiVersion is still {number}: raise it in {ABI_HEADER}")
    else:
        print(f"{RECORD} has no line for ABI number {number}: python3 tests/policy/abi_headers.py . --record")
    return 1


if __name__ == "__main__":
    sys.exit(main())
