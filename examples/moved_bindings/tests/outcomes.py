# SPDX-License-Identifier: BSD-3-Clause
"""What a call does, as text, and the table of README.md that states where the modules differ."""

from __future__ import annotations

import re
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROW = re.compile(r"^\| \w+ \| (\w+) \| (.+?) \| `(.+?)` \| `(.+?)` \| .+ \|$", re.MULTILINE)
SIZES = re.compile(r"^\| (\w+) \| (\d+) \| (\d+) \|", re.MULTILINE)


def plain(value):
    """Arrays as `numpy float64 [1.0]`, within lists and tuples too."""
    if isinstance(value, (list, tuple)):
        return type(value)(map(plain, value))
    module = type(value).__module__.split(".")[0]
    if module in ("numpy", "torch") and hasattr(value, "dtype"):
        dtype = str(value.dtype).replace("torch.", "")
        numbers = value.float() if dtype == "bfloat16" and module == "torch" else value
        return Text(f"{module} {dtype} {numbers.tolist()}")
    return value


class Text(str):
    """A text that stands in a list without quotes."""

    __repr__ = str.__str__


def outcome(call, module) -> str:
    try:
        return str(plain(call(module)))
    except Exception as e:
        return f"{type(e).__name__}: {e}".replace("\n", " ")


def matches(text: str, pattern: str) -> bool:
    """Whether a text is the pattern, in which each … stands for any text."""
    return re.fullmatch(".*".join(map(re.escape, pattern.split("…"))), text) is not None


def differences() -> dict[tuple[str, str], tuple[str, str]]:
    rows = ROW.findall((HERE / "README.md").read_text())
    return {(module, case): (before, after) for module, case, before, after in rows}


def lines_of_code(source: Path) -> int:
    lines = [re.sub(r"//.*", "", line).strip() for line in source.read_text().splitlines()]
    return sum(1 for line in lines if line)


def stated_lines() -> dict[str, tuple[int, int]]:
    rows = SIZES.findall((HERE / "README.md").read_text())
    return {module: (int(before), int(after)) for module, before, after in rows}
