# SPDX-License-Identifier: Apache-2.0
"""Environments to train policies in, with the functions of Gymnasium's `Env` (reset, step, close; action_space and
observation_space if the package is there). Gymnasium is no part of Debian 12, so that nothing here needs it.

    env = uvmsim.env.PrefetchEnv(trace, "h200-sxm-pcie5", osf=2)
    observation, info = env.reset(seed=1)
    while True:
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    env.close()

A step is one call of the policy: the simulator stands still meanwhile, in a thread of its own. The reward is the
simulated time that passed since the step before, in us, negative: the sum is the run's time from the first question on,
whose time `reset` tells (`info["time_ns"]`).

    python3 -m uvmsim.env TRACE SYSTEM OSF

prints how many steps a second of processor time is enough for, with action 0.
"""

import sys
import threading
import time

from uvmsim import policy


class _Stopped(Exception):
    """Ends a run that nobody wants to go on."""


class _Exchange:
    """The policy asks, whoever trains answers; one of the two runs at a time."""

    def __init__(self):
        self.asked, self.answered = threading.Lock(), threading.Lock()  # taken: not yet
        self.asked.acquire()
        self.answered.acquire()
        self.question = self.answer = None
        self.stopped = False

    def ask(self, question):  # the simulator's thread
        self.question = question
        self.asked.release()
        self.answered.acquire()
        if self.stopped:
            raise _Stopped
        return self.answer


class Env:
    """What the environments share; `actions` says how many there are, `observations` how many numbers they see."""

    actions, observations = 0, 0
    metadata = {"render_modes": []}

    def __init__(self, trace, system, most_steps=None, **options):
        self.trace, self.system, self.most_steps, self.options = trace, system, most_steps, options
        self.exchange = self.thread = self.result = self.error = None
        try:
            from gymnasium import spaces
            import numpy

            self.action_space = spaces.Discrete(self.actions)
            self.observation_space = spaces.Box(0, 2**62, (self.observations,), numpy.int64)
        except ImportError:
            self.action_space = self.observation_space = None

    def reset(self, seed=None, options=None):
        self.close()
        self.exchange, self.result, self.error = _Exchange(), None, None
        self.steps, self.time_ns = 0, 0
        chosen = dict(self.options, **(options or {}))
        if seed is not None:
            chosen["seed"] = seed
        self.thread = threading.Thread(target=self._run, args=(chosen, self.exchange), daemon=True)
        self.thread.start()
        observation, over = self._next()
        return observation, {"result": self.result, "time_ns": self.time_ns} if over else {"time_ns": self.time_ns}

    def step(self, action):
        if not 0 <= action < self.actions:
            raise ValueError(f"action {action}; allowed: 0 to {self.actions - 1}")
        if self.thread is None or self.result is not None:
            raise RuntimeError("the run is over; allowed: reset()")
        self.exchange.answer = action
        self.exchange.answered.release()
        self.steps += 1
        before = self.time_ns
        observation, terminated = self._next()
        info = {"result": self.result} if terminated else {}
        truncated = not terminated and self.most_steps is not None and self.steps >= self.most_steps
        return observation, (before - self.time_ns) / 1000, terminated, truncated, info

    def close(self):
        if self.thread is None:
            return
        if self.thread.is_alive():
            self.exchange.stopped = True
            self.exchange.answered.release()
        self.thread.join()
        self.thread = None

    def _run(self, options, exchange):
        try:
            self.result = self.trace.run(self.system, **{self.slot: self._policy(exchange)}, **options)
        except _Stopped:
            pass
        except Exception as error:  # whoever trains is told
            self.error = error
        exchange.question = None
        exchange.asked.release()

    def _next(self):
        self.exchange.asked.acquire()
        if self.error is not None:
            raise self.error
        if self.exchange.question is None:
            self.time_ns = self.result["total_ns"]
            return (0,) * self.observations, True
        self.time_ns, observation = self.exchange.question
        return observation, False


class PrefetchEnv(Env):
    """At each fault of a 2 MB block: nothing more (0), its 64 KB units (1), all of it (2), and with it the next 1, 2, 4
    or 8 blocks (3 to 6). Seen: faulted pages, resident pages, distance to the block before (+ 2**31), blocks of the
    allocation ahead, free memory in chunks."""

    slot, actions, observations = "prefetch", 7, 5

    @staticmethod
    def _policy(exchange):
        class EnvPrefetcher(policy.Prefetcher):
            """asks the environment"""

            def __init__(self, context):
                super().__init__(context)
                self.last, self.action, self.free = 0, 0, context.chunk_count

            def prefetch(self, block):
                if block.to_host:
                    return 0
                faulted, resident, now = block.faulted, block.resident, block.block
                seen = (faulted.bit_count(), resident.bit_count(), now - self.last + 2**31,
                        block.allocation[1] // policy.PAGES_PER_BLOCK - now, self.free)  # fmt: skip
                self.last = now
                self.action = exchange.ask((block.now_ns, seen))
                if self.action == 0:
                    return 0
                if self.action == 1:
                    unit, units = (1 << policy.PAGES_PER_UNIT) - 1, 0
                    for first in range(0, policy.PAGES_PER_BLOCK, policy.PAGES_PER_UNIT):
                        if faulted >> first & unit:
                            units |= unit << first
                    return units
                return (1 << policy.PAGES_PER_BLOCK) - 1

            def prefetch_beyond(self, block, queries):
                self.free = queries.free_chunks
                if self.action < 3:
                    return []
                first = (block.block + 1) * policy.PAGES_PER_BLOCK
                end = min(first + (1 << (self.action - 3)) * policy.PAGES_PER_BLOCK, block.allocation[1])
                return [(first, end)] if first < end else []

        return EnvPrefetcher


class EvictEnv(Env):
    """At each eviction: which of the 8 chunks that came first, or were used first (class D2), goes; one that may not
    go stands for the next that may. Seen of each: how many uses ago it was used last, how often, pages to write back."""

    slot, actions, observations = "evict", 8, 24

    @staticmethod
    def _policy(exchange):
        class EnvEvictor(policy.Evictor):
            """asks the environment"""

            information_class = "D2"

            def __init__(self, context):
                super().__init__(context)
                self.order, self.clock = {}, 0  # by chunk, least recently used first: (last use, uses)

            def on_migrated(self, chunk):
                self.on_touched(chunk)

            def on_touched(self, chunk):
                self.clock += 1
                self.order[chunk] = (self.clock, self.order.pop(chunk, (0, 0))[1] + 1)

            def on_emptied(self, chunk):
                uses = self.order.pop(chunk, (0, 0))
                self.order = {chunk: uses, **self.order}  # first of all

            def on_released(self, chunk):
                self.order.pop(chunk, None)

            def select_victim(self, queries):
                candidates = []
                for chunk in self.order:
                    if queries.evictable(chunk):
                        candidates.append(chunk)
                        if len(candidates) == EvictEnv.actions:
                            break
                if not candidates:
                    return None
                seen = []
                for chunk in candidates:
                    last, uses = self.order[chunk]
                    seen += [self.clock - last, uses, queries.view(chunk).unsaved_pages]
                seen += [0] * (EvictEnv.observations - len(seen))
                action = exchange.ask((queries.now_ns, tuple(seen)))
                return candidates[min(action, len(candidates) - 1)]

        return EnvEvictor


def _steps_per_second(env):
    env.reset()
    begin = time.process_time()
    over = False
    while not over:
        _, _, terminated, truncated, _ = env.step(0)
        over = terminated or truncated
    seconds = time.process_time() - begin
    env.close()
    return env.steps, env.steps / seconds


def _main(trace, system, osf):
    for kind in (PrefetchEnv, EvictEnv):
        steps, rate = _steps_per_second(kind(Trace(trace), system, osf=float(osf)))
        print(f"{kind.__name__}: {steps} steps, {rate:,.0f} a second of processor time")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit("usage: python3 -m uvmsim.env TRACE SYSTEM OSF")
    from uvmsim import Trace

    _main(*sys.argv[1:])
