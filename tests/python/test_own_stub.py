"""_core.pyi has what the compiled module has, by mypy's stubtest."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

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
