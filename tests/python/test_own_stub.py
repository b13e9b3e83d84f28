# SPDX-License-Identifier: BSD-3-Clause
"""_core.pyi has what the compiled module has, by mypy's stubtest, with the same docstrings."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import own_stub

import dlbridge

# What a stub states otherwise than the module, by purpose: the buffer protocol has no attribute
# before Python 3.12, and a method that only some tensors have is a descriptor of the type.
BY_PURPOSE = r"""
dlbridge\._core\.Tensor\.__buffer__
dlbridge\._core\.Tensor\.__cuda_stream__
"""


def test_the_stub_describes_the_module(tmp_path: Path) -> None:
    allowed = tmp_path / "allowed.txt"
    allowed.write_text(BY_PURPOSE)
    stubtest = [sys.executable, "-m", "mypy.stubtest", "dlbridge._core"]
    done = subprocess.run(
        [*stubtest, "--allowlist", str(allowed), "--ignore-unused-allowlist"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_has_the_docstrings_of_the_module() -> None:
    """tests/python/own_stub.py writes them."""
    stub = Path(dlbridge.__file__).with_name("_core.pyi").read_text()
    assert own_stub.with_docstrings(stub) == stub
    other = stub.replace("Return a NumPy array on the same memory, as np.asarray.", "Return it.")
    assert other != stub == own_stub.with_docstrings(other)


def test_docstrings_of_every_kind_are_compared() -> None:
    """Those of functions, classes, methods and attributes, but not of special methods."""
    stub = Path(dlbridge.__file__).with_name("_core.pyi").read_text()
    names = {docstring.name for docstring in own_stub.docstrings(stub)}
    functions = {"from_dlpack", "as_tensor", "to_dlpack", "from_pointer", "empty"}
    assert names >= functions | {"_core", "_drivers", "_vector", "CopyForbiddenError"}
    assert names >= {"Tensor", "Tensor.reshape", "Tensor.shape", "_Flags", "_Flags.aligned"}
    assert not names & {"Tensor.__len__", "Tensor.__dlpack__", "dtype.__new__"}
