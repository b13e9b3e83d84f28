# SPDX-License-Identifier: BSD-3-Clause
"""The progress of an exchange: printed by the child, read by the parent after a crash."""

from __future__ import annotations

import re

MOST_SAID = 300  # characters of a message

STEPS = {
    "import": "while {} was imported",
    "make": "while {} created the array",
    "take": "while {} imported it",
    "read": "while {} read it",
    "read again": "while {} read it after its source was freed",
    "use": "while {} computed with it",
    "drop": "while {} released it",
}
_MARK = "dlbridge matrix: "


def step(name: str, title: str) -> None:
    print(f"\n{_MARK}{STEPS[name].format(title)}", flush=True)


def side_of(step: str) -> str:
    """Returns the side that took a step: the producer creates the array, the consumer the rest."""
    return "producer" if step.endswith(STEPS["make"].partition("{}")[2]) else "consumer"


def last_step(noise: str) -> tuple[str, str]:
    """Returns the last step of a child process and its last message, from its output."""
    _, _, rest = noise.rpartition(_MARK)
    step, _, text = rest.partition("\n")
    if _MARK not in noise:
        step, text = "", noise
    text = text.partition("Fatal Python error")[0]
    lines = [line for line in map(tidy, text.splitlines()) if line and "Warning" not in line]
    telling = [line for line in lines if _TELLING.search(line)]
    return step, (telling or lines or [""])[0]


_TELLING = re.compile(r"what\(\)|check failed|assert", re.IGNORECASE)
_DIFFERS = (
    (re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+:? "), ""),  # a timestamp
    (re.compile(r"^[A-Z]\d{4} [\d:.]+ +\d+ "), ""),  # a timestamp of Google's libraries
    (re.compile(r"\b0x[0-9a-fA-F]+"), "0x..."),
    (re.compile(r"(/[\w.+-]+){2,}/"), ".../"),  # a path
)


def tidy(text: str) -> str:
    """Formats a message in one line, without parts that differ between runs and machines.

    >>> tidy("got <object at 0x7f12>\\n  in /usr/lib/python3/x.py")
    'got <object at 0x...> in .../x.py'
    """
    text = " ".join(text.split())
    for pattern, instead in _DIFFERS:
        text = pattern.sub(instead, text)
    return text[:MOST_SAID]
