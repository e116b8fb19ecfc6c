# SPDX-License-Identifier: Apache-2.0
"""A transformer trained with JAX: one jitted step of forward pass, backward pass and Adam, in bfloat16.

Weights and inputs are random. The loss goes to stdout with full precision, times go to stderr.
"""

import argparse
import sys
import time

import jax
import jax.numpy as jnp

try:
    import uvmtrace  # there when the program runs under `uvmtrace record`
except ImportError:
    uvmtrace = None


def new_weights(key, layers, width, vocabulary):
    def matrix(rows, columns):
        nonlocal key
        key, here = jax.random.split(key)
        return jax.random.normal(here, (rows, columns), jnp.float32) * rows**-0.5

    blocks = [
        {
            "qkv": matrix(width, 3 * width),
            "out": matrix(width, width),
            "up": matrix(width, 4 * width),
            "down": matrix(4 * width, width),
        }
        for _ in range(layers)
    ]
    return {"embedding": matrix(vocabulary, width), "blocks": blocks}


def normalize(x):
    wide = x.astype(jnp.float32)
    return (wide * jax.lax.rsqrt(jnp.mean(wide * wide, axis=-1, keepdims=True) + 1e-5)).astype(x.dtype)


def attention(x, block, heads):
    batch, length, width = x.shape
    query, key, value = (
        part.reshape(batch, length, heads, width // heads) for part in jnp.split(x @ block["qkv"], 3, axis=-1)
    )
    attended = jax.nn.dot_product_attention(query, key, value, is_causal=True)
    return attended.reshape(batch, length, width) @ block["out"]


def loss_of(weights, tokens, heads):
    weights = jax.tree.map(lambda w: w.astype(jnp.bfloat16), weights)
    x = weights["embedding"][tokens[:, :-1]]
    for block in weights["blocks"]:
        x = x + attention(normalize(x), block, heads)
        x = x + jax.nn.gelu(normalize(x) @ block["up"]) @ block["down"]
    logits = (normalize(x) @ weights["embedding"].T).astype(jnp.float32)
    likelihood = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], axis=-1)
    return -jnp.mean(likelihood)


def adam(weight, gradient, first, second, step):
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    scale = 1e-4 * jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return weight - scale * first / (jnp.sqrt(second) + 1e-8), first, second


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=8, help="sequences")
    parser.add_argument("--tokens", type=int, default=512, help="per sequence")
    arguments = parser.parse_args()

    heads, vocabulary = arguments.width // 64, 32000
    key = jax.random.key(arguments.seed)
    weights = jax.jit(new_weights, static_argnums=(1, 2, 3))(key, arguments.layers, arguments.width, vocabulary)
    zeros = jax.tree.map(jnp.zeros_like, weights)
    state = (weights, zeros, zeros)
    tokens = jax.random.randint(key, (arguments.batch, arguments.tokens + 1), 0, vocabulary)

    @jax.jit
    def step(state, tokens, number):
        weights, first, second = state
        loss, gradients = jax.value_and_grad(loss_of)(weights, tokens, heads)
        new = jax.tree.map(lambda *parts: adam(*parts, number), weights, gradients, first, second)
        is_triple = lambda node: isinstance(node, tuple)  # noqa: E731
        return tuple(jax.tree.map(lambda t, i=i: t[i], new, is_leaf=is_triple) for i in range(3)), loss

    for index in range(arguments.iterations):
        if uvmtrace is not None:
            uvmtrace.iteration()
        begin = time.perf_counter()
        state, loss = step(state, tokens, jnp.float32(index + 1))
        print(f"iteration {index} loss {loss.item()!r}", flush=True)
        print(f"iteration {index} took {(time.perf_counter() - begin) * 1e3:.1f} ms", file=sys.stderr)
    peak = jax.devices()[0].memory_stats()["peak_bytes_in_use"]
    print(f"peak in use {peak >> 20} MiB", file=sys.stderr)


if __name__ == "__main__":
    main()
