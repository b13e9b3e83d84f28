# SPDX-License-Identifier: BSD-3-Clause
"""Writes down each call into the examined library before it is made.

The parent process reads the file when a child has crashed or hangs, and so knows the call. Calls
that are known to end so are excluded: what needs them is skipped. A process that has no file, as in
unit tests, keeps its journal in memory.
"""

from __future__ import annotations

import functools
import json
import mmap
import os
import re
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from .. import children
from .outcomes import Skip

# request: __dlpack__. free: the deleter of an export. drop: the end of a capsule, not consumed.
# used: the end of one that was consumed. source: the end of an array that was exported.
# view: what is no part of DLPack, such as x.T. import: the consumer, with a tensor of ours.
# factory: a call of it, with the keywords that are not the usual ones.
Kind = Literal["request", "free", "drop", "used", "source", "view", "import", "device", "factory"]

# The texts of calls that stand for all requests and all imports, and the subject of all views.
EVERY_REQUEST, EVERY_IMPORT, EVERY_VIEW = "__dlpack__", "from_dlpack", "views"
FACTORY = "the factory"  # its call without keywords, which stands for all of its calls
# Words of requests, as keywords are; a request without a version from 1.0 on is legacy.
AGAIN, ON_THREAD, LEGACY = "again", "on another thread", "legacy"
# Words of imports: another struct, and an array of the library.
VERSIONED, OWN = "versioned", "of its own"
OF_STRUCTS = (LEGACY, VERSIONED, "OldProducer", "LegacyProducer")
EVERY = (EVERY_REQUEST, EVERY_IMPORT, FACTORY)
RESULT = "what from_dlpack returned"  # the subject of calls of results
VIEW = " of "  # in the name of each view: "x[1:] of float32 (6,)"
SIZE = 4096  # bytes of the file
_HEAD = 8  # bytes: the number of entries so far (6), and the length of the present one (2)


class Call(NamedTuple):
    """A call into the library."""

    kind: Kind
    text: str  # "__dlpack__(copy=True)", "x.T"
    keywords: tuple[str, ...] = ()  # of a request, the consumer and the factory: "copy=True"
    subject: str = ""  # the array that is examined; "": the plain one

    def __str__(self) -> str:
        return f"{self.text} of {self.subject}" if self.subject else self.text

    def covers(self, other: Call) -> bool:
        """Whether another call does what this one does, and more.

        What ends in one request of a plain array is expected to end so in each request that has
        its keywords, of every array; in one of another array, in those of its views, and of the
        arrays that share the one trait by which it differs from a plain one; an import, the end of
        its result, and a call of the factory, in each one that has its words; and a view, in each
        view of it.
        """
        if self.kind != other.kind or not self._is_of(other.subject):
            return False
        if self.kind == "view":
            return self.text.removeprefix("x") in other.text
        words = set(self.keywords) - (_OF_KINDS if self.subject else set())
        words = words - {LEGACY, VERSIONED} or words  # of both structs, as far as is known
        if self.kind in ("import", "free"):
            words = _blamed(words)
        if words:
            return words <= set(other.keywords)
        every = self.text in EVERY or (bool(self.subject) and self.kind == "request")
        return every or self.text == other.text

    def _is_of(self, subject: str) -> bool:
        if self.subject == EVERY_VIEW:
            return VIEW in subject
        if self.subject in ("", subject) or subject.endswith(VIEW + self.subject):
            return True
        own = traits(self.subject)
        return len(own) == 1 and own <= traits(subject)


# The traits of the tensors that consumers are examined with; libraries fail most at the first ones.
# With each, the rule that reports an import which it ends.
RANKED = {
    "deleter=False": "X-06",
    "negative strides": "C-36",
    "strides=None": "C-08",
    "an offset": "C-09",
    "other strides": "C-10",
    "rank 0": "C-25",
    "size 0": "C-16",
    "dtype ": "C-12",
    "read-only": "C-13",
}
_OF_CONSUMERS = ("copy=", "device=")  # keywords


def is_ranked(words: Iterable[str]) -> bool:
    """Whether a tensor has no other traits: those make it invalid, or are up to the consumer."""
    known = (*RANKED, *_OF_CONSUMERS, *OF_STRUCTS)
    return all(each.startswith(known) for each in words)


def _blamed(words: set[str]) -> set[str]:
    """Leaves one of several traits: an import that ends is not repeated with each of the others."""
    ranked = [each for trait in RANKED for each in words if each.startswith(trait)]
    if not ranked or not is_ranked(words):
        return words
    return {ranked[0], *(each for each in words if each.startswith(_OF_CONSUMERS))}


_OF_KINDS = {LEGACY, "max_version", "max_version=None"}
_DTYPE = re.compile(r"\b(?:bool|u?int\d+|b?float\d+\w*|complex\d+)\b")
_EXTENTS = re.compile(r"\((?:\d+(?:, ?\d+)*,?)?\)")
_PLAIN = ("float32", "(2, 3)")


@functools.lru_cache(maxsize=256)
def traits(subject: str) -> frozenset[str]:
    """Returns by what an array differs from a plain one: its dtype, its shape, what view it is.

    >>> sorted(traits("read-only int8 (0, 3)")), sorted(traits("x[1:] of float32 (6,)"))
    (['int8', 'read-only', 'size 0'], ['x[1:]'])
    """
    view, _, described = subject.rpartition(VIEW)
    found = {view, *_DTYPE.findall(described)}
    found |= {_shape(each) for each in _EXTENTS.findall(described) if not view}
    found |= {word for word in ("read-only", RESULT) if word in described}
    found |= {trait for words, trait in _IN_WORDS.items() if words in subject}
    return frozenset(found - {"", *_PLAIN})


# In the names of cases, and before those of views.
_IN_WORDS = {"no dimensions": "rank 0", "rank 0": "rank 0", "size 0": "size 0"}


def _shape(extents: str) -> str:
    if extents == "()":
        return "rank 0"
    return "size 0" if "0" in re.findall(r"\d+", extents) else extents


@dataclass(frozen=True)
class Ending:
    """A call that ended the process, or that did not end."""

    call: Call
    how: str  # "the process crashed: SIGSEGV"

    def __str__(self) -> str:
        return f"{self.call}: {self.how}"

    def as_json(self) -> dict[str, Any]:
        return {"call": self.call._asdict(), "how": self.how}

    @staticmethod
    def of_json(value: dict[str, Any]) -> Ending:
        call = value["call"]
        return Ending(Call(**{**call, "keywords": tuple(call["keywords"])}), value["how"])


END = Call("free", "the end of a result", (VERSIONED,))


class Excluded(Skip):
    """The check needs a call that ends the process."""


# In the child process --------------------------------------------------------------------------

_page: Any = bytearray(SIZE)
_endings: tuple[Ending, ...] = ()
_count = 0
_active: list[Call] = []  # of all threads, the outermost first
subject = ""  # the array that is examined: arrays() and large_arrays() set it


def open_file(descriptor: int) -> None:
    """Lets this process write to the file of its parent."""
    global _page
    _page = mmap.mmap(descriptor, SIZE)


def detach() -> None:
    """Keeps the journal of a copy of this process, which a check has forked, to itself."""
    global _page
    _page = bytearray(SIZE)


def tick(seconds: float = 0.0) -> None:
    """Tells the parent that this process goes on. It is a children.Watch that ends no call."""
    global _count
    _count += 1
    _page[:6] = _count.to_bytes(6, "little")


def exclude(endings: list[dict[str, Any]]) -> None:
    """Sets which calls are not made from now on: those of endings, as_json()."""
    global _endings
    _endings = tuple(Ending.of_json(each) for each in endings)


def excluding(call: Call) -> Ending | None:
    """Returns why a call is not made; None where it is."""
    for ending in _endings:
        if ending.call.covers(call):
            return ending
    return None


def require(call: Call) -> None:
    """Raises Excluded where a call must not be made."""
    if _endings and (ending := excluding(call)) is not None:
        raise Excluded(f"not examined, because of {ending}")


class entry:
    """A context manager, for a call in its block. Raises Excluded where it must not be made."""

    __slots__ = ("_call",)

    def __init__(self, call: Call) -> None:
        self._call = call

    def __enter__(self) -> None:
        if _endings:
            require(self._call)
        _active.append(self._call)
        _write_active()

    def __exit__(self, *raised: object) -> None:
        _active.remove(self._call)
        _write_active()


def _write_active() -> None:
    """Writes the innermost call down, or the outermost one of its kind, which says more."""
    active = tuple(_active)
    kind = active[-1].kind if active else ""
    call = next((each for each in active if each.kind == kind), None)
    _write(b"" if call is None else _encoded(call))


@functools.lru_cache(maxsize=64)
def _encoded(call: Call) -> bytes:
    return json.dumps(call._asdict()).encode()[: SIZE - _HEAD]


def _write(text: bytes) -> None:
    global _count
    _count += 1
    _page[_HEAD : _HEAD + len(text)] = text
    _page[:_HEAD] = _count.to_bytes(6, "little") + len(text).to_bytes(2, "little")


# In the parent process ---------------------------------------------------------------------------


class Journal:
    """The file, as the parent process reads it; it has no name, and ends with its processes."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self._descriptor = children.above_2(file.fileno())
        self.clear()

    def fileno(self) -> int:
        """Returns the descriptor, for the child process."""
        return self._descriptor

    def close(self) -> None:
        os.close(self._descriptor)

    def read(self) -> tuple[int, Call | None]:
        """Returns the number of entries so far, and the call that is being made, if any."""
        page = os.pread(self.fileno(), SIZE, 0)
        count = int.from_bytes(page[:6], "little")
        text = page[_HEAD : _HEAD + int.from_bytes(page[6:_HEAD], "little")]
        try:
            call = json.loads(text)
        except ValueError:  # none; or it is being written
            return count, None
        return count, Call(**{**call, "keywords": tuple(call["keywords"])})

    def clear(self) -> None:
        """Forgets the last call of a process that has ended."""
        os.pwrite(self.fileno(), bytes(SIZE), 0)
