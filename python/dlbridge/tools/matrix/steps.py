"""How far an exchange came: said by the child as it goes, read by the parent when it has died."""

from __future__ import annotations

import re

MOST_SAID = 300  # characters of a message that are kept

STEPS = {
    "import": "while {} was imported",
    "make": "while {} made the array",
    "take": "while {} took it",
    "read": "while {} read it",
    "read again": "while {} read it after its source had gone",
    "use": "while {} computed with it",
    "drop": "while {} dropped it",
}
_MARK = "dlbridge matrix: "


def step(name: str, who: str) -> None:
    print(f"\n{_MARK}{STEPS[name].format(who)}", flush=True)


def last_step(noise: str) -> tuple[str, str]:
    """How far a child came, and its last words, from what it printed."""
    _, _, rest = noise.rpartition(_MARK)
    where, _, said = rest.partition("\n")
    if _MARK not in noise:
        where, said = "", noise
    said = said.partition("Fatal Python error")[0]
    lines = [line for line in map(tidy, said.splitlines()) if line and "Warning" not in line]
    telling = [line for line in lines if _TELLING.search(line)]
    return where, (telling or lines or [""])[0]


_TELLING = re.compile(r"what\(\)|check failed|assert", re.IGNORECASE)
_DIFFERS = (
    (re.compile(r"^\d{4}-\d\d-\d\d [\d:.]+:? "), ""),  # the time at which it was said
    (re.compile(r"^[A-Z]\d{4} [\d:.]+ +\d+ "), ""),  # the same, as Google's libraries say it
    (re.compile(r"\b0x[0-9a-fA-F]+"), "0x..."),
    (re.compile(r"(/[\w.+-]+){2,}/"), ".../"),  # where it was built or installed
)


def tidy(said: str) -> str:
    """A message in a line, without what differs from run to run and from machine to machine.

    >>> tidy("got <object at 0x7f12>\\n  in /usr/lib/python3/x.py")
    'got <object at 0x...> in .../x.py'
    """
    text = " ".join(said.split())
    for pattern, instead in _DIFFERS:
        text = pattern.sub(instead, text)
    return text[:MOST_SAID]
