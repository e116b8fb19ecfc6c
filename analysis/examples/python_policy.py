# SPDX-License-Identifier: Apache-2.0
# %% [markdown]
# A policy in Python: run a program, write a prefetcher, see whether it is better.
#
#     cmake --preset python && cmake --build --preset python
#     PYTHONPATH=build/python/python /usr/bin/python3 analysis/examples/python_policy.py
#
# A script of cells (# %%): editors with notebooks run them one by one. What is quick here is quick to try; a policy that
# proved itself is better written in C++ (policies/README.md): the last cell measures what Python costs.

# %% A program, under the driver's own policies
import os
import time

import pandas

import uvmsim

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SYSTEM = "h200-sxm-pcie5"

trace = uvmsim.Trace(os.path.join(ROOT, "workloads", "tiled_matmul.uvmt"))
driver = trace.run(SYSTEM, osf=2, bounds=True)
print(f"{driver['total_ns'] / 1e6:.3f} ms, {driver['counters']['fault_batches']} fault batches")
print(f"best lower bound {driver['bounds']['best_ns'] / 1e6:.3f} ms")

# %% As a table: the main columns; frame(everything=True) has all of `uvmsim run --csv`
runs = trace.run(SYSTEM, osf=[1, 1.5, 2, 4])
table = pandas.concat([run.frame() for run in runs])
print(table[table["scope"] == "total"][["osf", "duration_ns", "fault_batches", "evictions"]].to_string(index=False))


# %% A prefetcher: pages are bits of an int, bit p is page p of the 2 MB block
class NextUnits(uvmsim.Prefetcher):
    """the faulted 64 KB units and some more after each"""

    parameters = [uvmsim.integer("units", 1, (0, 31), "how many units after each faulted one")]

    def prefetch(self, block):
        pages, faulted = 0, block.faulted
        for unit in range(32):
            if faulted >> (16 * unit) & 0xFFFF:
                pages |= ((1 << 16 * (self.units + 1)) - 1) << (16 * unit)
        return pages & ((1 << block.end_page) - 1)


# %% An evictor: the oldest chunk that came, whatever happened to it since
class Oldest(uvmsim.Evictor):
    """first come, first out"""

    def __init__(self, context):
        super().__init__(context)
        self.order = {}

    def on_migrated(self, chunk):
        self.order.setdefault(chunk)

    def on_released(self, chunk):
        self.order.pop(chunk, None)

    def select_victim(self, queries):
        return next((chunk for chunk in self.order if queries.evictable(chunk)), None)


# %% Against the driver's
for name, policies in {
    "driver": {},
    "3 units more": {"prefetch": (NextUnits, {"units": 3})},
    "all of the block": {"prefetch": (NextUnits, {"units": 31})},
    "oldest": {"evict": Oldest},
}.items():
    run = trace.run(SYSTEM, osf=2, unlimited_run=False, **policies)
    print(f"{name:18} {run['total_ns'] / driver['total_ns']:.3f} of the driver's time")


# %% What is wrong is one line
try:
    trace.run(SYSTEM, osf=2, evict="lur")
except uvmsim.Error as error:
    print(error)


# %% What Python costs: CPU time against the same policies in C++
class Nothing(uvmsim.Prefetcher):
    """the faulted pages, nothing else"""

    def prefetch(self, block):
        return 0


def cost(in_python, in_cpp):
    seconds, counters = [], []
    for prefetch in (in_python, in_cpp):
        start = time.process_time()
        result = trace.run(SYSTEM, osf=2, unlimited_run=False, prefetch=prefetch)
        seconds.append(time.process_time() - start)
        counters.append(result["counters"])
    calls = counters[0]["blocks_serviced"]
    more = 1e6 * (seconds[0] - seconds[1]) / calls
    print(f"{in_cpp}: {seconds[1]:.2f} s, in Python {seconds[0]:.2f} s: {more:.1f} us more for each of {calls:,} calls;", end=" ")
    print("same result:", counters[0] == counters[1])


cost(Nothing, "none")
cost(NextUnits, "sequential:units_ahead=1")
