# SPDX-License-Identifier: Apache-2.0
"""Environments to train in: whoever acts as a known policy gets its run, to the byte."""

import threading
import unittest

from traces import SYSTEM, TraceTest

import uvmsim
import uvmsim.env


def play(env, choose, **reset):
    """What a run's steps saw and were paid, and its result."""
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
