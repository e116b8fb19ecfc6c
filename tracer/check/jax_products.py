# SPDX-License-Identifier: Apache-2.0
"""Four matrix products under jax.jit, three times over: the smallest program whose compiler chooses by timing."""

import jax
import jax.numpy as jnp


@jax.jit
def products(left, right):
    both = left @ right
    return both @ left + left @ both, (both.T @ right).astype(jnp.float32).sum()


def main():
    keys = jax.random.split(jax.random.key(0))
    left, right = (jax.random.normal(key, (4096, 4096), jnp.bfloat16) / 64 for key in keys)
    for index in range(3):
        left, total = products(left, right)
        left = left / 64
        print(f"iteration {index} sum {total.item()!r}", flush=True)


if __name__ == "__main__":
    main()
