# SPDX-License-Identifier: BSD-3-Clause
"""What global variables hold of C++ objects when the interpreter exits, with both bindings."""

from __future__ import annotations

import pytest
from new_interpreter import run

from bindings import MODULES

# The ways in which a global variable holds memory of a C++ object.
HELD_AT_EXIT = {
    "a view": "Late({}).view",
    "an ndarray": "Late({}).array",
    "a Tensor": "Late({}).tensor",
    "an export": "np.from_dlpack(Late({}))",
    "an array of __array__": "np.asarray(Late({}))",
    "a view of an array": "np.asarray(Late({}).view)[1:]",
    "a buffer": "memoryview(Late({}).array)",
    "a capsule": "Late({}).__dlpack__(max_version=(1, 0))",
    "a Tensor of a Tensor": "dlbridge.from_dlpack(Late({}).tensor)",
    "a library that frees without the GIL, as PyTorch": (
        "Frees(foreign.consume(Late({}).__dlpack__(max_version=(1, 0))))"
    ),
    "a static variable of C++": "keep(Late({}))",
}


@pytest.mark.parametrize("module", MODULES)
def test_owners_of_views_in_global_variables_are_freed_at_exit(module: str) -> None:
    """The destructors run, and nanobind reports no leak, which `run` would see in stderr."""
    pytest.importorskip("numpy")
    code = f"""
import numpy as np
import {module}
Late, keep = {module}.exits.Late, {module}.exits.keep
class Frees:
    def __init__(self, tensor): self.tensor = tensor
    def __del__(self): self.tensor.release("nogil")
"""
    for number, held in enumerate(HELD_AT_EXIT.values()):
        name = ("sys.v{}", f"{module}.v{{}}", "v{}")[number % 3].format(number)
        code += f"{name} = {held.format(number)}\n"
    freed = run(code).splitlines()
    assert sorted(freed) == sorted(f"freed {number}" for number in range(len(HELD_AT_EXIT)))
