# SPDX-License-Identifier: Apache-2.0
"""Policies in Python: they are notified and asked as those in C++ are, and give the same results."""

import json
import os
import signal
import subprocess
import sys
import time
import unittest

from traces import SYSTEM, TraceTest, cyclic_scan

import uvmsim


class NextUnit(uvmsim.Prefetcher):
    """policies/examples/next_unit.cpp, once more"""

    name = "next_unit_in_python"
    parameters = [uvmsim.boolean("backwards", False, "take the unit before the faulted one")]

    def prefetch(self, block):
        pages, faulted = 0, block.faulted
        for unit in range(32):
            if faulted >> (16 * unit) & 0xFFFF:
                pages |= 0xFFFF << (16 * unit)
                neighbour = unit - 1 if self.backwards else unit + 1
                if 0 <= neighbour < 32:
                    pages |= 0xFFFF << (16 * neighbour)
        return pages


class Tires(uvmsim.Prefetcher):
    """brings all of a block until its hundredth answer, and tells so"""

    name = "tires_in_python"

    def __init__(self, context):
        super().__init__(context)
        self.answers = 0

    def prefetch(self, block):
        self.answers = min(self.answers + 1, 100)
        return (1 << 512) - 1 if self.answers < 100 else 0

    def state(self):
        return bytes([self.answers])


class Forgets(Tires):
    """... and does not"""

    name = "forgets_in_python"

    def state(self):
        return b""


class Fifo(uvmsim.Evictor):
    """policies/evict/fifo.cpp, once more"""

    name = "fifo_in_python"

    def __init__(self, context):
        super().__init__(context)
        self.queue, self.empty = {}, {}

    def on_migrated(self, chunk):
        self.empty.pop(chunk, None)
        self.queue.setdefault(chunk)

    def on_emptied(self, chunk):
        self.queue.pop(chunk, None)
        self.empty.pop(chunk, None)
        self.empty[chunk] = None

    def on_released(self, chunk):
        self.queue.pop(chunk, None)
        self.empty.pop(chunk, None)

    def select_victim(self, queries):
        for chunk in (*self.empty, *self.queue):
            if queries.evictable(chunk):
                return chunk
        return None


def without_names(result):
    return {key: value for key, value in result.items() if key not in ("policies", "plugins", "command")}


class SamePoliciesTest(TraceTest):
    def test_a_prefetcher_does_what_the_same_one_of_a_plugin_does(self):
        plugin = os.environ["UVMSIM_NEXT_UNIT"]
        for backwards in (False, True):
            text = f"next_unit:backwards={str(backwards).lower()}"
            expected = self.trace.run(SYSTEM, osf=2, plugins=[plugin], prefetch=text)
            found = self.trace.run(SYSTEM, osf=2, prefetch=(NextUnit, {"backwards": backwards}))
            self.assertEqual(without_names(found), without_names(expected))
        used = found["policies"]["prefetch"]
        self.assertEqual(used["name"], "next_unit_in_python")
        self.assertEqual(used["parameters"], {"backwards": "true"})
        self.assertEqual(used["information_class"], "D0")

    def test_an_evictor_does_what_the_built_in_does(self):
        expected = self.trace.run(SYSTEM, osf=2, evict="fifo")
        found = self.trace.run(SYSTEM, osf=2, evict=Fifo)
        self.assertGreater(found["counters"]["evictions"], 0)
        self.assertEqual(without_names(found), without_names(expected))

    def test_a_state_that_forgets_is_found(self):
        verdicts = {name: (passed, text) for name, passed, text in uvmsim.check_policy(Tires)}
        self.assertEqual([name for name, (passed, _) in verdicts.items() if not passed], [])
        forgets = {name: (passed, text) for name, passed, text in uvmsim.check_policy(Forgets)}
        passed, text = forgets["skipped iterations"]
        self.assertFalse(passed)
        self.assertIn("add_state does not tell all", text)

    def test_twice_the_same(self):
        class Dice(uvmsim.Prefetcher):
            """random pages"""

            def prefetch(self, block):
                return sum(1 << page for page in {self.context.random.below(512) for _ in range(9)})

        first, second = (self.trace.run(SYSTEM, osf=2, prefetch=Dice).json for _ in range(2))
        self.assertEqual(first, second)
        self.assertNotEqual(self.trace.run(SYSTEM, osf=2, seed=2, prefetch=Dice).json, first)


class SeenTest(TraceTest):
    def test_what_a_prefetcher_sees(self):
        seen, kept = [], []

        class Looks(uvmsim.Prefetcher):
            """looks"""

            information_class = "D2"

            def prefetch(self, block):
                kept.append(block)
                seen.append((block.block, block.first_page, block.end_page, block.now_ns, block.to_host))
                assert block.faulted and not block.faulted & block.resident and block.faulted < 1 << block.end_page
                return 0

            def prefetch_beyond(self, block, queries):
                first, end = block.allocation
                assert first <= 512 * block.block < end
                return [(512 * (block.block + 1), 512 * (block.block + 2))] if queries.free_chunks else []

            def on_evicted(self, block, pages, touched):
                seen.append((block, pages, touched))

            def on_freed(self, block):
                seen.append("freed")

        result = self.trace.run(SYSTEM, osf=2, unlimited_run=False, prefetch=Looks)
        self.assertGreater(result["counters"]["prefetched_pages"], 0)
        self.assertIn("freed", seen)
        self.assertTrue(any(len(one) == 3 and one[1] >= one[2] > 0 for one in seen if one != "freed"))
        with self.assertRaisesRegex(RuntimeError, "only during the call"):
            kept[0].faulted

    def test_what_an_evictor_sees(self):
        views = []

        class Looks(uvmsim.Evictor):
            """looks"""

            information_class = "D2"

            def __init__(self, context):
                super().__init__(context)
                assert context.chunk_count == 2 and context.chunk_bytes == 2 << 20
                self.touched = {}

            def on_migrated(self, chunk):
                self.touched.setdefault(chunk, 0)

            def on_touched(self, chunk):
                self.touched[chunk] = self.touched.get(chunk, 0) + 1

            def on_released(self, chunk):
                self.touched.pop(chunk, None)

            def select_victim(self, queries):
                assert queries.free_chunks == 0 and queries.incoming >= 0 and queries.now_ns > 0
                chunk = min((one for one in self.touched if queries.evictable(one)), default=None)
                views.append((queries.view(chunk).content, queries.view(chunk).resident_pages, self.touched[chunk]))
                return chunk

        self.trace.run(SYSTEM, osf=4, unlimited_run=False, evict=Looks)
        self.assertTrue(views)
        self.assertTrue(all(0 < pages <= 512 for _, pages, _ in views))
        self.assertTrue(any(touches for _, _, touches in views))


class OracleNext(uvmsim.Prefetcher):
    """policies/prefetch/oracle_next.cpp, once more"""

    name = "oracle_next_in_python"
    information_class = "D4"
    parameters = [uvmsim.integer("units", 64, (1, 1 << 20), "64 KB units that come with a fault, at most"),
                  uvmsim.integer("look", 4096, (1, 1 << 30), "uses that it looks ahead")]  # fmt: skip

    def prefetch(self, block):
        pages = 0
        for unit in range(0 if block.to_host else 32):
            if block.faulted >> (16 * unit) & 0xFFFF:
                pages |= 0xFFFF << (16 * unit)
        return pages & ~block.thrashing

    def prefetch_beyond(self, block, queries):
        future, spans, left = self.context.future, [], self.units
        chunks, last = 0, block.block
        for position in range(future.now, min(len(future), future.now + self.look)):
            unit = future.at(position)
            if unit is None:
                continue
            home, pages = unit // 32, 0xFFFF << (16 * (unit % 32))
            if not queries.missing(home) & pages or home == block.block and block.faulted & pages:
                continue
            if home != last:
                chunks += 1
                if chunks > max(1, self.context.chunk_count // 2):
                    break
            last = home
            if spans and spans[-1][1] == 16 * unit:
                spans[-1] = (spans[-1][0], 16 * unit + 16)
            else:
                spans.append((16 * unit, 16 * unit + 16))
            left -= 1
            if left == 0:
                break
        return spans


class OracleTest(TraceTest):
    def test_it_does_what_the_built_in_does(self):
        for units in (3, 64):
            expected = self.trace.run(SYSTEM, osf=2, prefetch=f"oracle_next:units={units}")
            found = self.trace.run(SYSTEM, osf=2, prefetch=(OracleNext, {"units": units}))
            self.assertGreater(found["counters"]["prefetched_pages"], 0)
            self.assertEqual(without_names(found), without_names(expected))
        self.assertEqual(found["policies"]["prefetch"]["information_class"], "D4")

    def test_an_evictor_that_knows_the_next_uses(self):
        kept = []

        class Furthest(Fifo):
            """the chunk whose next use is furthest away"""

            name = "furthest_in_python"
            information_class = "D4"

            def __init__(self, context):
                super().__init__(context)
                self.future = context.future
                kept.append(self.future)

            def select_victim(self, queries):
                def distance(chunk):
                    use = self.future.next_use(queries.view(chunk).content)
                    assert use is None or self.future.now <= use < len(self.future)
                    return len(self.future) if use is None else use

                there = [chunk for chunk in (*self.empty, *self.queue) if queries.evictable(chunk)]
                return max(there, key=distance, default=None)

        with open(self.path("cyclic.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in cyclic_scan(blocks=6, rounds=5))
        trace = uvmsim.Trace(self.path("cyclic.jsonl"))
        furthest, best, oldest = (
            trace.run(SYSTEM, osf=2, unlimited_run=False, prefetch="always_2mb", evict=evict)["counters"]["evictions"]
            for evict in (Furthest, "min", "lru")
        )
        self.assertEqual(furthest, best)
        self.assertEqual(oldest, 6 * 5 - 3)  # under LRU the next content was just evicted
        self.assertLess(furthest, oldest)
        for ask in (lambda: kept[0].now, lambda: len(kept[0]), lambda: kept[0].at(0)):
            with self.assertRaisesRegex(RuntimeError, "during the run only"):
                ask()

    def test_one_that_could_not_be_made_knows_no_more(self):
        kept = []

        class Fails(NextUnit):
            """keeps the future and fails"""

            name, information_class = "fails_with_the_future", "D4"

            def __init__(self, context):
                kept.append(context.future)
                assert len(context.future) > 0
                raise ValueError("not today")

        with self.assertRaisesRegex(ValueError, "not today"):
            self.trace.run(SYSTEM, osf=2, prefetch=Fails)
        with self.assertRaisesRegex(RuntimeError, "during the run only"):
            kept[0].at(0)

    def test_a_planner_that_knows_the_kernels(self):
        class Ahead(uvmsim.Planner):
            """brings what the next kernel will use"""

            information_class = "D4"

            def __init__(self, context):
                super().__init__(context)
                self.kernels, self.wanted = context.future.kernels, []
                assert len(self.kernels) == 12 and all(duration >= 0 for duration, _ in self.kernels)
                assert context.future.chunks == context.chunk_count and context.future.htod_bytes_per_us > 1000

            def on_begin(self, kernel):
                self.wanted = [use for at in self.kernels[kernel.number : kernel.number + 2] for use in at[1]]

            def next(self, queries):
                while self.wanted:
                    block, _ = self.wanted.pop(0)
                    missing = queries.missing(block)
                    if missing and queries.free_chunks:
                        return ("prefetch", block, missing)
                return None

        result = self.trace.run(SYSTEM, osf=1, unlimited_run=False, plan=Ahead)
        alone = self.trace.run(SYSTEM, osf=1, unlimited_run=False)
        self.assertLess(result["counters"]["kernel_ns"], alone["counters"]["kernel_ns"])  # kernels wait less

    def test_only_they_know(self):
        class Looks(NextUnit):
            """looks"""

            name = "looks_for_the_future"

            def __init__(self, context):
                super().__init__(context)
                assert context.future is None

        self.trace.run(SYSTEM, osf=2, unlimited_run=False, prefetch=Looks)

        class Beyond(NextUnit):
            """asks for more than there is"""

            name, information_class = "beyond_the_future", "D4"

            def prefetch(self, block):
                return self.context.future.at(len(self.context.future))

        with self.assertRaisesRegex(IndexError, r"position (\d+); allowed: below \1"):
            self.trace.run(SYSTEM, osf=2, prefetch=Beyond)


class PlannerTest(TraceTest):
    def test_it_hears_of_kernels_and_moves_what_they_will_use(self):
        kept, heard = [], {"launched": 0, "begun": 0, "ended": 0, "migrated": 0, "faulted": 0}

        class Ahead(uvmsim.Planner):
            """brings what a launched kernel's arguments point to"""

            def __init__(self, context):
                super().__init__(context)
                self.wanted = []

            def on_launched(self, kernel):
                kept.append(kernel)
                heard["launched"] += 1
                assert kernel.name == "k" and kernel.thread_blocks == 64 and kernel.threads_per_block == 256
                self.wanted = [block for _, memory in kernel.arguments for block in memory]

            def on_begin(self, kernel):
                heard["begun"] += 1

            def on_end(self, number):
                heard["ended"] += 1

            def on_faulted(self, block, pages):
                heard["faulted"] += 1
                assert 0 < pages < 1 << 512

            def on_migrated(self, block):
                heard["migrated"] += 1

            def next(self, queries):
                while self.wanted:
                    block, pages = self.wanted.pop(0)
                    missing = queries.missing(block) & pages
                    if missing and queries.free_chunks:
                        return ("prefetch", block, missing)
                return None

        result = self.trace.run(SYSTEM, osf=1, unlimited_run=False, plan=Ahead)
        alone = self.trace.run(SYSTEM, osf=1, unlimited_run=False)
        self.assertEqual(result["policies"]["plan"]["name"], "ahead")
        self.assertEqual([heard[name] for name in ("launched", "begun", "ended")], [12, 12, 12])
        self.assertGreater(heard["migrated"], 0)
        self.assertLess(result["counters"]["kernel_ns"], alone["counters"]["kernel_ns"])  # kernels wait less
        with self.assertRaisesRegex(RuntimeError, "only during the call"):
            kept[0].name

    def test_one_that_does_nothing_changes_nothing(self):
        idle = type("Idle", (uvmsim.Planner,), {"next": lambda self, queries: None})
        expected = self.trace.run(SYSTEM, osf=2)
        self.assertEqual(without_names(self.trace.run(SYSTEM, osf=2, plan=idle)), without_names(expected))

    def test_answers_that_are_none(self):
        for answer in ("evict", ("evict",), ("prefetch", 1), ("throw", 1), 7):
            wrong = type("Wrong", (uvmsim.Planner,), {"next": lambda self, queries, answer=answer: answer})
            with self.assertRaisesRegex(TypeError, r"plan policy 'wrong': next\(\) returned .*allowed: None, "):
                self.trace.run(SYSTEM, osf=2, plan=wrong)


class MigratorTest(TraceTest):
    def test_what_rests_is_used_from_the_host(self):
        class Rests(uvmsim.Migrator):
            """all rests on the host"""

            def rest(self, faulted):
                assert faulted.chunks == 4 and (faulted.reads | faulted.writes) and not faulted.reads & faulted.writes
                return faulted.reads | faulted.writes

        resting = self.trace.run(SYSTEM, osf=2, unlimited_run=False, migrate=Rests)
        self.assertEqual(resting["counters"]["evictions"], 0)
        self.assertGreater(resting["counters"]["remote_access_bytes"], 0)

    def test_one_that_keeps_nothing_there_is_none(self):
        class Comes(uvmsim.Migrator):
            """all comes"""

            def rest(self, faulted):
                return (0, 0)

        expected = self.trace.run(SYSTEM, osf=2)
        self.assertEqual(without_names(self.trace.run(SYSTEM, osf=2, migrate=Comes)), without_names(expected))


class RouterTest(TraceTest):
    """One GPU of four is at work; transfers can use the links of the others."""

    SYSTEM = "p3-8xlarge"

    def run_with(self, router):
        return self.trace.run(self.SYSTEM, osf=2, unlimited_run=False, route=router)

    def test_what_evictions_and_faults_take(self):
        class Around(uvmsim.Router):
            """through GPU 3 where it can be"""

            def route(self, move, queries):
                assert queries.gpu_count == 4 and move.bytes > 0 and not move.may_stay and not move.may_wait
                assert (move.source, move.destination) in ((None, 0), (0, None))
                assert move.cause in ("fault", "prefetch", "evict") and move.now_ns >= 0 and move.block >= 0
                assert queries.joined(None, 3) and queries.joined(3, 0) and not queries.joined(0, 17)
                assert queries.busy_until_ns(None, 3) >= 0 and queries.unloaded_time_ns(None, 0, 4096) > 0
                assert queries.free_chunks(3) > 0 and queries.pending_chunks(3) == 0
                assert not queries.has_room(3) and not queries.path_full(3) and not queries.harvests(3)
                return ("gpu", 3)

        around, direct = self.run_with(Around), self.run_with("direct")
        counters = around["counters"]
        self.assertGreater(counters["dtod_evict_bytes"], 0)
        self.assertEqual(counters["dtod_evict_bytes"], counters["dtoh_evict_bytes"])
        self.assertEqual(counters["dtod_fault_bytes"], counters["htod_fault_bytes"])
        self.assertGreater(around["total_ns"], direct["total_ns"])
        self.assertEqual(direct["counters"]["dtod_evict_bytes"], 0)

    def test_stripes(self):
        class Half(uvmsim.Router):
            """a half directly, a half through GPU 3"""

            def route(self, move, queries):
                return ("striped", 1, {3: 1})

        counters = self.run_with(Half)["counters"]
        # With an odd number of 64 KB units, one more goes directly.
        self.assertGreater(counters["dtod_evict_bytes"], counters["dtoh_evict_bytes"] / 3)
        self.assertLessEqual(counters["dtod_evict_bytes"], counters["dtoh_evict_bytes"] / 2)

    def test_one_that_answers_nothing_is_none(self):
        class Nothing(uvmsim.Router):
            """the driver's own way"""

            def route(self, move, queries):
                return None

        self.assertEqual(without_names(self.run_with(Nothing)), without_names(self.run_with("direct")))

    def test_answers_that_are_none(self):
        for answer in ("somewhere", ("gpu",), ("gpu", "3"), 3, ("striped", 1, 3), ("striped", 65536, {})):
            wrong = type("Wrong", (uvmsim.Router,), {"route": lambda self, move, queries, answer=answer: answer})
            with self.assertRaisesRegex(TypeError, r"route policy 'wrong': route\(\) returned .*allowed: None, "):
                self.run_with(wrong)
        for answer, says in ((("gpu", 9), "GPU 9, which does not exist"), (("spare", 1), "may not stay"), ("later", "somebody waits"), (("striped", 1, {17: 1}), "GPU 17, which does not exist")):
            wrong = type("Wrong", (uvmsim.Router,), {"route": lambda self, move, queries, answer=answer: answer})
            with self.assertRaisesRegex(uvmsim.ModelError, rf"route policy 'wrong' \(Python\) sends block .*{says}"):
                self.run_with(wrong)

    def test_kernels_are_for_those_who_may_know(self):
        seen = []

        class Listens(uvmsim.Router):
            """hears of kernels"""

            information_class = "D3"

            def route(self, move, queries):
                return None

            def on_kernels(self, gpu, running):
                seen.append((gpu, running))

        self.run_with(Listens)
        self.assertEqual(set(seen), {(0, 0), (0, 1)})
        self.assertEqual(seen[:5], [(0, 1)] * 4 + [(0, 0)])  # an instance per GPU


class WrongPoliciesTest(TraceTest):
    def run_prefetcher(self, answer):
        class Wrong(uvmsim.Prefetcher):
            """wrong"""

            def prefetch(self, block):
                return answer()

        return self.trace.run(SYSTEM, osf=2, prefetch=Wrong)

    def test_exceptions_come_out_as_they_are(self):
        with self.assertRaises(ZeroDivisionError):
            self.run_prefetcher(lambda: 1 // 0)

    def test_answers_that_are_none(self):
        with self.assertRaisesRegex(TypeError, r"prefetch policy 'wrong': prefetch\(\) returned .*str.*; allowed: an int"):
            self.run_prefetcher(lambda: "all")
        for value in (-1, 1 << 512):
            with self.assertRaisesRegex(ValueError, r"prefetch policy 'wrong': prefetch\(\) returned"):
                self.run_prefetcher(lambda value=value: value)

        class Nobody(uvmsim.Evictor):
            """nobody"""

            def select_victim(self, queries):
                return 10**6

        with self.assertRaisesRegex(uvmsim.ModelError, "chose root chunk 1000000"):
            self.trace.run(SYSTEM, osf=2, evict=Nobody)

    def test_hooks_that_nobody_would_call(self):
        class Misspelt(uvmsim.Evictor):
            def on_migratd(self, chunk):
                pass

            def select_victim(self, queries):
                return 0

        with self.assertRaisesRegex(TypeError, r"Misspelt has on_migratd\(\), .* did you mean on_migrated\(\)\?"):
            self.trace.run(SYSTEM, osf=2, evict=Misspelt)

        class Deaf(uvmsim.Evictor):
            def on_touched(self, chunk):
                pass

            def select_victim(self, queries):
                return 0

        with self.assertRaisesRegex(TypeError, r"Deaf has on_touched\(\), .* class D2 and up, and declares class D0"):
            uvmsim.register(Deaf)
        Deaf.information_class = "D2"
        self.assertEqual(uvmsim.register(Deaf), "deaf")

    def test_no_victim_is_an_error(self):
        class Idle(uvmsim.Evictor):
            def select_victim(self, queries):
                return None

        with self.assertRaisesRegex(uvmsim.ModelError, r"evict policy 'idle' \(Python\) returned no victim for block"):
            self.trace.run(SYSTEM, osf=2, evict=Idle)

    def test_ctrl_c_ends_a_run(self):
        # The interrupt arrives in a built-in that would run for hours: `markov` does not add its state, so no iteration
        # is skipped.
        script = (
            "import sys, uvmsim\n"
            "trace = uvmsim.Trace(sys.argv[1])\n"
            "print('running', flush=True)\n"
            f"trace.run('{SYSTEM}', osf=2, prefetch='markov', iterations=1000000, unlimited_run=False)\n"
        )
        path = os.path.join(os.path.dirname(uvmsim.__file__), "..")
        run = subprocess.Popen(
            [sys.executable, "-c", script, self.trace.path],
            env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )  # fmt: skip
        self.assertEqual(run.stdout.readline(), "running\n")
        time.sleep(0.3)
        asked = time.monotonic()
        run.send_signal(signal.SIGINT)
        _, error = run.communicate(timeout=60)
        self.assertLess(time.monotonic() - asked, 20)  # the limit allows for a busy machine; the run would take hours
        self.assertIn("KeyboardInterrupt", error)

    def test_classes_that_are_no_policies(self):
        with self.assertRaisesRegex(TypeError, "subclasses of uvmsim.Prefetcher, "):
            uvmsim.register(int)
        with self.assertRaisesRegex(TypeError, r"no method select_victim\(\)"):
            uvmsim.register(type("Mine", (uvmsim.Evictor,), {}))
        with self.assertRaisesRegex(uvmsim.Error, "already registered"):
            uvmsim.register(type("Tree", (NextUnit,), {"name": "tree"}))
        with self.assertRaisesRegex(uvmsim.Error, "'D5' is not allowed; allowed: D0, D1, D2, D3, D4"):
            uvmsim.register(type("Mine", (NextUnit,), {"information_class": "D5"}))
        with self.assertRaisesRegex(uvmsim.Error, "backward"):
            self.trace.run(SYSTEM, osf=2, prefetch=(NextUnit, {"backward": True}))

    def test_a_class_written_anew_takes_the_place_of_the_old_one(self):
        def version(pages):
            return type("Edited", (uvmsim.Prefetcher,), {"prefetch": lambda self, block: pages})

        none, everything = (self.trace.run(SYSTEM, osf=2, prefetch=version(pages)) for pages in (0, (1 << 512) - 1))
        self.assertEqual(none["counters"]["prefetched_pages"], 0)
        self.assertGreater(everything["counters"]["prefetched_pages"], 0)
        self.assertEqual(sum(one["name"] == "edited" for one in uvmsim.policies()), 1)


if __name__ == "__main__":
    unittest.main()
