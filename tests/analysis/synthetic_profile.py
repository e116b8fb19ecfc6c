# SPDX-License-Identifier: Apache-2.0
"""A small invented profile for the tests: two iterations of three kernels in two layers, three allocations.

Kernel `matmul` of layer `fc` stalls longest; most of its stall is on the tensor of 8 MB.
"""

import json
import sqlite3

from synthetic import Point, create, result_of

from analysis.profile_tables import TRAFFIC

MS = 1_000_000
NAMES = ["host", "matmul", "add", "softmax"]
ITERATION_NS = 100 * MS


def traffic(**given):
    return {**dict.fromkeys(TRAFFIC, 0), **given}


def operations():
    """A host row and three kernels per iteration; the first kernel runs before the iterations."""
    kernels = [
        # name, layer, compute, stall, faulting pages, bytes to the GPU, working set
        (1, 2, 4, 20, 500, 2_000_000, 8 << 20),
        (2, 2, 1, 2, 50, 200_000, 1 << 20),
        (3, 0, 1, 0, 0, 0, 1 << 20),
    ]
    rows = []
    for iteration in (None, 0, 1):
        base = {"iteration": iteration, "record": len(rows), "stream": 0, "device": 0}
        empty = dict.fromkeys(("start_ns", "duration_ns", "compute_ns", "stall_ns"))
        counts = {"read_bytes": 0, "written_bytes": 0, "fault_batches": 0, "raw_faults": 0, "evictions": 0}
        host = {
            "operation": len(rows),
            "kind": "host",
            "name_id": 0,
            "layer": 0,
            **base,
            **empty,
            "working_set_bytes": 0,
        }
        rows.append({**host, **counts, **traffic()})
        start = ITERATION_NS * (0 if iteration is None else iteration + 1)
        for name, layer, compute, stall, pages, loaded, size in kernels[:1] if iteration is None else kernels:
            times = {"start_ns": start, "duration_ns": (compute + stall) * MS, "compute_ns": compute * MS}
            row = {"operation": len(rows), "kind": "kernel", "name_id": name, "layer": layer, **base, **times}
            row.update(stall_ns=stall * MS, working_set_bytes=size, **counts)
            row.update(fault_batches=pages // 50, evictions=pages // 100)
            row.update(traffic(read_faulting_pages=pages // 2, write_faulting_pages=pages - pages // 2))
            row.update(
                htod_fault_bytes=loaded // 4, htod_prefetch_bytes=loaded - loaded // 4, dtoh_evict_bytes=loaded // 2
            )
            rows.append(row)
            start += (compute + stall) * MS
    return rows


LAYERS = [
    {"layer": 0, "parent": None, "depth": 0, "name": "", "path": ""},
    {"layer": 1, "parent": 0, "depth": 1, "name": "net:Net", "path": "net:Net"},
    {"layer": 2, "parent": 1, "depth": 2, "name": "fc:Linear", "path": "net:Net / fc:Linear"},
]
SUMMED = ["duration_ns", "compute_ns", "stall_ns", "fault_batches", "raw_faults", "evictions", *TRAFFIC]


def layer_sums(rows):
    inside = {0: {0, 1, 2}, 1: {1, 2}, 2: {2}}
    out = []
    for iteration in (None, 0, 1):
        kernels = [row for row in rows if row["kind"] == "kernel" and row["iteration"] == iteration]
        for layer in inside:
            for nested in (0, 1):
                mine = [row for row in kernels if row["layer"] in (inside[layer] if nested else {layer})]
                if mine:
                    values = {name: sum(row[name] for row in mine) for name in SUMMED}
                    out.append(
                        {"layer": layer, "nested": nested, "iteration": iteration, "kernels": len(mine), **values}
                    )
    return out


def allocations():
    rows = [
        (0, "none", "", 0, "program", 0),
        (1, "tensor", "", 8 << 20, "program", 0),
        (2, "tensor", "", 1 << 20, "iteration", 2),
    ]
    return [
        {
            "allocation": number,
            "id": number,
            "kind": kind,
            "name": name,
            "bytes": size,
            "address": number << 30,
            "lifetime": lifetime,
            "layer": layer,
            "allocated_ns": 0,
            "freed_ns": None,
            "allocated_in": None,
            "freed_in": None,
        }
        for number, kind, name, size, lifetime, layer in rows
    ]


def uses():
    rows = []
    for iteration in (0, 1):
        for allocation, stall, pages in ((1, 15, 400), (2, 7, 150)):
            row = {"allocation": allocation, "iteration": iteration, "operations": 2, "touched_bytes": 9 << 20}
            row.update(written_bytes=0, fault_batches=pages // 50, stall_ns=stall * MS)
            rows.append({**row, **traffic(read_faulting_pages=pages, htod_fault_bytes=pages * 4096)})
    return rows


def heat():
    """Returns eight times by four addresses; the highest address is never used, half of the first is resident."""
    rows = []
    for time in range(8):
        for address in range(3):
            rows.append(
                {
                    "device": 0,
                    "time_bucket": time,
                    "address_bucket": address,
                    "resident_bytes": (1 << 20) if address == 0 else (2 << 20),
                    "touched_bytes": (2 << 20) * 10**address,
                    "faulted_bytes": 4096 * time,
                    "loaded_bytes": 65536 * time,
                    "evicted_bytes": 0,
                }
            )
    return rows


def write_profile(path, program="gpt2", schema="uvmsim.profile/1", with_heat=True):
    rows = operations()
    connection = sqlite3.connect(path)
    create(connection, "run", [{"schema": schema, "result": json.dumps(result_of(Point(program, osf=2.0)))}])
    create(connection, "names", [{"name_id": number, "name": name} for number, name in enumerate(NAMES)])
    create(connection, "layers", LAYERS)
    create(connection, "operations", rows)
    create(connection, "layer_sums", layer_sums(rows))
    create(connection, "allocations", allocations())
    create(connection, "allocation_uses", uses())
    grid = {"device": 0, "end_ns": 3 * ITERATION_NS, "bucket_ns": 40 * MS, "time_buckets": 8}
    create(connection, "heat_grid", [{**grid, "bucket_bytes": 2 << 20, "address_buckets": 4}])
    create(connection, "heat", heat())
    if not with_heat:
        connection.execute("DELETE FROM heat_grid")
        connection.execute("DELETE FROM heat")
    connection.execute(
        "CREATE VIEW kernels AS SELECT names.name AS name, layers.path AS layer_path, operations.* FROM operations"
        " JOIN names USING (name_id) JOIN layers USING (layer) WHERE kind = 'kernel'"
    )
    connection.commit()
    connection.close()
    return path
