# SPDX-License-Identifier: Apache-2.0
"""Training environments: an agent that acts as a known policy gets that policy's result, to the byte."""

import json
import threading
import unittest

from traces import SYSTEM, TraceTest, lines

import uvmsim
import uvmsim.env


def play(env, choose, **reset):
    """Returns the observations and rewards of a run's steps, and its result."""
    observation, begin = env.reset(**reset)
    rewards, seen = [], [observation]
    while True:
        observation, reward, terminated, truncated, info = env.step(choose(observation))
        rewards.append(reward)
        seen.append(observation)
        if terminated or truncated:
            return seen, rewards, terminated, info | {"begin_ns": begin["time_ns"]}


class Environments(TraceTest):
    def test_the_action_of_a_policy_is_its_run(self):
        env = uvmsim.env.PrefetchEnv(self.trace, SYSTEM, osf=2)
        for action, name in ((0, "none"), (2, "always_2mb")):
            seen, rewards, terminated, info = play(env, lambda _, action=action: action)
            self.assertTrue(terminated)
            self.assertGreater(len(seen), 8)
            known = self.trace.run(SYSTEM, osf=2, prefetch=name)
            self.assertEqual(info["result"]["total_ns"], known["total_ns"])
            self.assertEqual(info["result"]["counters"], known["counters"])
            rest_us = (known["total_ns"] - info["begin_ns"]) / 1000
            self.assertAlmostEqual(-sum(rewards), rest_us, places=3, msg="rewards sum up to the run's time")

    def test_the_least_recently_used_chunk_is_the_first(self):
        env = uvmsim.env.EvictEnv(self.trace, SYSTEM, osf=2)
        seen, _, terminated, info = play(env, lambda _: 0)
        self.assertTrue(terminated)
        self.assertEqual(info["result"]["total_ns"], self.trace.run(SYSTEM, osf=2, evict="lru")["total_ns"])
        self.assertTrue(all(len(observation) == env.observations for observation in seen))

    def test_the_same_actions_are_the_same_run(self):
        env = uvmsim.env.PrefetchEnv(self.trace, SYSTEM, osf=2)
        runs = [play(env, lambda seen: sum(seen) % env.actions, seed=3)[:2] for _ in range(2)]
        self.assertEqual(*runs)

    def test_a_run_that_nobody_ends(self):
        threads = threading.active_count()
        env = uvmsim.env.PrefetchEnv(self.trace, SYSTEM, most_steps=3, osf=2)
        _, rewards, terminated, info = play(env, lambda _: 0)
        self.assertEqual((len(rewards), terminated, "result" in info), (3, False, False))
        env.reset()
        env.close()
        env.close()
        self.assertEqual(threading.active_count(), threads)

    def test_features_and_actions_of_ones_own(self):
        class Halves(uvmsim.env.PrefetchEnv):
            """Fetches nothing, the lower or the upper half of the block; observes which half faults."""

            actions, observations = 3, 2
            half = (1 << 256) - 1

            def features(self, block, last, free_chunks):
                return int(block.faulted & self.half != 0), int(block.faulted >> 256 != 0)

            def pages(self, block, action):
                return (0, self.half, self.half << 256)[action]

            def beyond(self, block, action):
                return []

        env = Halves(self.trace, SYSTEM, osf=2)
        seen, _, terminated, info = play(env, lambda _: 0)
        self.assertTrue(terminated)
        self.assertLessEqual(set(seen), {(0, 1), (1, 0), (1, 1), (0, 0)})
        self.assertEqual(info["result"]["counters"], self.trace.run(SYSTEM, osf=2, prefetch="none")["counters"])
        _, _, _, halves = play(env, lambda faults: 1 if faults[0] else 2)
        self.assertGreater(halves["result"]["counters"]["htod_prefetch_bytes"], 0)
        Halves.features = lambda *_: (1,)
        with self.assertRaisesRegex(ValueError, "gave 1 numbers; allowed: 2"):
            env.reset()
        env.close()

    def test_several_traces_take_turns(self):
        with open(self.path("b.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines(mib=8))
        traces = [self.trace, uvmsim.Trace(self.path("b.jsonl"))]
        env = uvmsim.env.PrefetchEnv(traces, SYSTEM, osf=2)
        files = [play(env, lambda _: 0)[3]["result"]["trace"]["file"] for _ in range(3)]
        self.assertEqual(files, ["a.jsonl", "b.jsonl", "a.jsonl"])
        self.assertEqual(env.reset(options={"trace": 1})[1]["trace"], 1)
        with self.assertRaisesRegex(ValueError, "trace 2; allowed: 0 to 1"):
            env.reset(options={"trace": 2})
        env.close()

    def test_several_at_once_are_each_as_alone(self):
        alone = uvmsim.env.PrefetchEnv(self.trace, SYSTEM, osf=2)
        wanted = [play(alone, lambda _, action=action: action)[:2] for action in (0, 2)]
        several = uvmsim.env.VectorEnv(lambda: uvmsim.env.PrefetchEnv(self.trace, SYSTEM, osf=2), 2)
        observations, _ = several.reset()
        seen, paid, over = [[one] for one in observations], [[], []], [False, False]
        while not all(over):
            observations, rewards, terminated, _, infos = several.step([0, 2])
            for number in range(2):
                if over[number]:
                    continue
                seen[number].append(observations[number])
                paid[number].append(rewards[number])
                over[number] = terminated[number]
                if over[number]:
                    self.assertIn("result", infos[number])
        self.assertEqual([(one, two) for one, two in zip(seen, paid)], wanted)
        again, _, terminated, _, _ = several.step([0, 2])  # a finished run starts again
        self.assertIn(False, terminated)
        with self.assertRaisesRegex(ValueError, "action 9"):
            several.step([9, 9])
        several.close()

    def test_mistakes(self):
        env = uvmsim.env.PrefetchEnv(self.trace, SYSTEM, osf=2)
        with self.assertRaisesRegex(RuntimeError, "allowed: reset"):
            env.step(0)
        env.reset()
        with self.assertRaisesRegex(ValueError, "action 7; allowed: 0 to 6"):
            env.step(7)
        env.close()
        with self.assertRaisesRegex(uvmsim.Error, "unknown system"):
            uvmsim.env.PrefetchEnv(self.trace, "nothing", osf=2).reset()


if __name__ == "__main__":
    unittest.main()
