# SPDX-License-Identifier: Apache-2.0
"""Environments to train policies in, with the functions of Gymnasium's `Env` (reset, step, close; action_space and
observation_space if the package is there). Gymnasium is not in Debian 12, so nothing here requires it.

    env = uvmsim.env.PrefetchEnv(trace, "h200-sxm-pcie5", osf=2)
    observation, info = env.reset(seed=1)
    while True:
        observation, reward, terminated, truncated, info = env.step(action)
        if terminated or truncated:
            break
    env.close()

A step is one call of the policy; the simulator waits meanwhile in a thread of its own. The reward is the negative
simulated time since the previous step, in us: the sum is the run's time from the first step on, which `reset` reports
(`info["time_ns"]`).

Methods of the environment define the observation and the meaning of actions: derive your own class from PrefetchEnv or
EvictEnv, set `observations` and `actions` to the numbers of both, and override `features`, `pages`, `beyond` or
`candidates`. `trace` may be a list of traces: each reset takes the next, or the one that options={"trace": number}
names. VectorEnv runs several environments at once, in processes.

    python3 -m uvmsim.env TRACE SYSTEM OSF

prints the number of steps per second of processor time, with action 0.
"""

import multiprocessing
import sys
import threading
import time

from uvmsim import policy


class _Stopped(Exception):
    """Ends a run that the trainer abandoned."""


class _Exchange:
    """Passes questions of the policy and answers of the trainer; one of the two threads runs at a time."""

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
    """The common part of the environments; `actions` is the number of actions, `observations` the length of an
    observation."""

    actions, observations = 0, 0
    metadata = {"render_modes": []}

    def __init__(self, trace, system, most_steps=None, **options):
        self.traces = list(trace) if isinstance(trace, (list, tuple)) else [trace]
        if not self.traces:
            raise ValueError("no trace given; allowed: one, or a list of at least one")
        self.number = -1  # index of the current trace
        self.system, self.most_steps, self.options = system, most_steps, options
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
        self.number = chosen.pop("trace", (self.number + 1) % len(self.traces))
        if self.number not in range(len(self.traces)):
            raise ValueError(f"trace {self.number}; allowed: 0 to {len(self.traces) - 1}")
        if seed is not None:
            chosen["seed"] = seed
        self.thread = threading.Thread(target=self._run, args=(chosen, self.exchange), daemon=True)
        self.thread.start()
        observation, over = self._next()
        info = {"time_ns": self.time_ns, "trace": self.number}
        return observation, info | {"result": self.result} if over else info

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

    def checked(self, seen):
        seen = tuple(seen)
        if len(seen) != self.observations:
            raise ValueError(f"{type(self).__name__}.features() gave {len(seen)} numbers; allowed: {self.observations}, as `observations` says")
        return seen

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
            policy_class = self._policy(exchange)
            self.result = self.traces[self.number].run(self.system, **{self.slot: policy_class}, **options)
        except _Stopped:
            pass
        except Exception as error:  # passed on to the trainer
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
    """At each fault of a 2 MB block, fetches nothing more (0), its 64 KB units (1), all of it (2), and in addition the
    next 1, 2, 4 or 8 blocks (3 to 6). Observed: faulted pages, resident pages, distance to the previous block (+
    2**31), blocks of the allocation ahead, free memory in chunks."""

    slot, actions, observations = "prefetch", 7, 5
    information_class = "D0"  # limits the inputs of `features`: policy.Policy

    def features(self, block, last, free_chunks):
        """Returns an observation of `observations` numbers, from `block` as in Prefetcher.prefetch(), the previous
        block, and free memory in chunks."""
        faulted, resident, now = block.faulted, block.resident, block.block
        ahead = block.allocation[1] // policy.PAGES_PER_BLOCK - now
        return faulted.bit_count(), resident.bit_count(), now - last + 2**31, ahead, free_chunks

    def pages(self, block, action):
        """Returns the pages to fetch of the block itself, as a mask."""
        if action == 0:
            return 0
        if action == 1:
            unit, units = (1 << policy.PAGES_PER_UNIT) - 1, 0
            for first in range(0, policy.PAGES_PER_BLOCK, policy.PAGES_PER_UNIT):
                if block.faulted >> first & unit:
                    units |= unit << first
            return units
        return (1 << policy.PAGES_PER_BLOCK) - 1

    def beyond(self, block, action):
        """Returns the pages to fetch of other blocks, as spans (first, end)."""
        if action < 3:
            return []
        first = (block.block + 1) * policy.PAGES_PER_BLOCK
        end = min(first + (1 << (action - 3)) * policy.PAGES_PER_BLOCK, block.allocation[1])
        return [(first, end)] if first < end else []

    def _policy(self, exchange):
        env = self

        class EnvPrefetcher(policy.Prefetcher):
            """passes the prefetcher's questions to the environment"""

            information_class = env.information_class

            def __init__(self, context):
                super().__init__(context)
                self.last, self.action, self.free = 0, 0, context.chunk_count

            def prefetch(self, block):
                if block.to_host:
                    return 0
                seen = env.checked(env.features(block, self.last, self.free))
                self.last = block.block
                self.action = exchange.ask((block.now_ns, seen))
                return env.pages(block, self.action)

            def prefetch_beyond(self, block, queries):
                self.free = queries.free_chunks
                return env.beyond(block, self.action)

        return EnvPrefetcher


class EvictEnv(Env):
    """At each eviction, chooses one of the 8 chunks that came first, or were used first (class D2); a chunk that cannot
    be evicted is replaced by the next that can. Observed per chunk: uses since its last one, its number of uses, pages
    to write back."""

    slot, actions, observations = "evict", 8, 24
    information_class = "D2"

    def features(self, chunk, queries, age, uses):
        """Returns observations / actions numbers for one candidate. `age` is the number of uses since its last one."""
        return age, uses, queries.view(chunk).unsaved_pages

    def candidates(self, order, queries):
        """Returns the chunks to choose from, at most `actions`, of `order` (chunks, the least recently used first)."""
        chosen = []
        for chunk in order:
            if queries.evictable(chunk):
                chosen.append(chunk)
                if len(chosen) == self.actions:
                    break
        return chosen

    def _policy(self, exchange):
        env = self

        class EnvEvictor(policy.Evictor):
            """passes the evictor's questions to the environment"""

            information_class = env.information_class

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
                self.order = {chunk: uses, **self.order}  # at the front

            def on_released(self, chunk):
                self.order.pop(chunk, None)

            def select_victim(self, queries):
                candidates = env.candidates(self.order, queries)
                if not candidates:
                    return None
                seen = []
                for chunk in candidates:
                    last, uses = self.order[chunk]
                    seen += env.features(chunk, queries, self.clock - last, uses)
                seen += [0] * (env.observations - len(seen))
                action = exchange.ask((queries.now_ns, env.checked(seen)))
                return candidates[min(action, len(candidates) - 1)]

        return EnvEvictor


def _serve(make, pipe):
    """Runs an environment in a process of its own and answers VectorEnv's requests."""
    env = make()
    over = False
    while True:
        what, value = pipe.recv()
        if what == "close":
            env.close()
            return
        try:
            if what == "reset":
                answer = env.reset(seed=value)
            elif over:  # the step after the end of a run begins the next one
                observation, info = env.reset()
                answer = observation, 0.0, False, False, info
            else:
                answer = env.step(value)
            over = what == "step" and (answer[2] or answer[3])
            pipe.send((True, answer))
        except Exception as error:  # passed on to the trainer
            pipe.send((False, error))


class VectorEnv:
    """Several environments, each in a process: VectorEnv(make, count), where make() creates one. Arguments and results
    of reset() and step() are lists with one element per environment. A step after the end of a run resets its
    environment and ignores the action (Gymnasium's "next step" mode)."""

    def __init__(self, make, count):
        self.num_envs, self.pipes, self.processes = count, [], []
        start = multiprocessing.get_context("fork")  # `make` may be any function
        for _ in range(count):
            here, there = start.Pipe()
            process = start.Process(target=_serve, args=(make, there), daemon=True)
            process.start()
            there.close()
            self.pipes.append(here)
            self.processes.append(process)

    def _ask(self, what, values):
        for pipe, value in zip(self.pipes, values, strict=True):
            pipe.send((what, value))
        answers = [pipe.recv() for pipe in self.pipes]
        for fine, answer in answers:
            if not fine:
                raise answer
        return [list(of_all) for of_all in zip(*(answer for _, answer in answers))]

    def reset(self, seed=None):
        """`seed` is a number, from which the seeds of the others count up, or a list with one per environment."""
        seeds = [seed] * self.num_envs if seed is None else seed
        if isinstance(seed, int):
            seeds = range(seed, seed + self.num_envs)
        return self._ask("reset", seeds)

    def step(self, actions):
        return self._ask("step", actions)

    def close(self):
        for pipe in self.pipes:
            pipe.send(("close", None))
            pipe.close()
        for process in self.processes:
            process.join()
        self.pipes, self.processes = [], []


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
