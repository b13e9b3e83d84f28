# SPDX-License-Identifier: BSD-3-Clause
"""The properties of a tensor that some consumer does not accept, and how each consumer reacts.

One row for each case: its condition, its description, and the reaction of each consumer. Oddities
and verdicts are both derived from these rows. Every reaction was observed with a version that
consumers.py names; the tests repeat it for each consumer that is installed. A reaction that a later
release has changed is a `Changed`.
"""

from __future__ import annotations

from .case import FAILS_LATER, reactions
from .devices import DEVICES
from .dtypes import DTYPES
from .memory import MEMORY, REST
from .shapes import SHAPES
from .strides import STRIDES

# In the order in which consumers examine a tensor.
CASES = [*SHAPES, *DEVICES, *DTYPES, *MEMORY, *STRIDES, *REST]

# A versioned struct of another major version: only version and deleter may be read (spec 2.1).
OTHER_MAJOR = reactions(
    numpy="BufferError",
    torch="RuntimeError",
    jax="JaxRuntimeError",
    tvm_ffi=FAILS_LATER,
    mpi4py=FAILS_LATER,
    dpnp="BufferError",
    paddle="ValueError",
    mlx=FAILS_LATER,
    pyarrow="ArrowInvalid",
    nanobind=FAILS_LATER,
)
