# SPDX-License-Identifier: BSD-3-Clause
"""Standard output, standard error and files: any text can be written, and a reader may leave."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable, TextIO

INTERRUPTED = 130  # the exit status after Ctrl-C, as shells report it


class CannotSave(Exception):
    """A file cannot be written; the text has its name and the reason."""


def printable(text: str) -> str:
    r"""Escapes what a terminal would obey or cannot show.

    >>> printable("a\x1b[2Jb")
    'a\\x1b[2Jb'
    """
    return "".join(c if c.isprintable() or c == "\n" else ascii(c)[1:-1] for c in text)


def one_line(text: str, most: int = 60) -> str:
    r"""Formats a text of a library in one line of at most so many characters.

    >>> one_line("1.0\n (beta)\x1b"), one_line("1.23456", most=5)
    ('1.0 (beta)\\x1b', '1....')
    """
    line = printable(" ".join(text.split()))
    return line if len(line) <= most else line[: most - 3] + "..."


def plural(count: int, noun: str, nouns: str = "") -> str:
    """Formats a number of things.

    >>> plural(1, "byte"), plural(-1, "element"), plural(2, "library", "libraries")
    ('1 byte', '-1 element', '2 libraries')
    """
    return f"{count} {noun if abs(count) == 1 else nouns or f'{noun}s'}"


def listed(numbers: tuple[int, ...], noun: str) -> str:
    """
    >>> listed((1,), "element"), listed((3, 1), "element")
    ('1 element', '3, 1 elements')
    """
    *others, last = numbers
    if not others:
        return plural(last, noun)
    return f"{', '.join(map(str, numbers))} {noun}s"


def columns(narrowest: int, widest: int) -> int:
    """Returns the columns of the terminal within bounds; `widest` where there is no terminal.

    A terminal, and the variable COLUMNS, may state 0.
    """
    return max(narrowest, min(widest, shutil.get_terminal_size((widest, 24)).columns))


def shows_colours(stream: TextIO) -> bool:
    """Whether a stream gets colours, as https://no-color.org and https://force-color.org state it.

    NO_COLOR forbids them and FORCE_COLOR demands them, in this order; else a terminal gets them.
    """
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


# The parameters of the control sequence for each word of a style.
_CODES = {
    "bold": 1, "dim": 2, "reverse": 7, "red": 31, "green": 32, "yellow": 33, "magenta": 35,
    "cyan": 36,
}  # fmt: skip


def styled(text: str, style: str) -> str:
    r"""Puts a text into the control sequences of a style such as "bold red".

    >>> styled("a", "bold red"), styled("a", "")
    ('\x1b[1;31ma\x1b[0m', 'a')
    """
    codes = ";".join(str(_CODES[word]) for word in style.split())
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and text else text


def line_printer() -> Callable[..., None]:
    """Returns a function that prints a line of texts with their styles, which colours show."""
    if shows_colours(sys.stdout):
        return lambda *parts: print("".join(styled(*part) for part in parts))
    return lambda *parts: print("".join(text for text, _ in parts))


def save(path: Path, text: str) -> None:
    """Writes a file in UTF-8. Raises CannotSave.

    The text may quote a library: what UTF-8 cannot express, a lone surrogate, is escaped.
    """
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise CannotSave(f"{path} cannot be written: {error.strerror or error}") from None


class Descriptor(io.RawIOBase):
    """Writes to a file descriptor until that fails, and discards everything after.

    A reader that leaves, such as head, is no failure. The caller reads `error` at the end: an
    exception during the output would lose the rest of a tool's work, and its exit status.
    Without a descriptor, as of a stream that the caller of the process closed, every write fails:
    its number may belong to a file that was opened since.
    """

    def __init__(self, descriptor: int | None) -> None:
        self.error: OSError | None = None
        self._descriptor = descriptor
        self._is_closed = False

    def fileno(self) -> int:
        if self._descriptor is None:
            raise io.UnsupportedOperation("the stream is closed")
        return self._descriptor

    def isatty(self) -> bool:
        return self._descriptor is not None and os.isatty(self._descriptor)

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if not self._is_closed:
            try:
                if self._descriptor is None:
                    raise OSError(errno.EBADF, os.strerror(errno.EBADF))
                return os.write(self._descriptor, data)
            except BrokenPipeError:
                self._is_closed = True
            except OSError as error:
                self._is_closed, self.error = True, error
        return memoryview(data).nbytes


@contextlib.contextmanager
def robust() -> Iterator[list[Descriptor]]:
    """Lets its block print any text, to any standard output and standard error.

    Characters without a code in the encoding are escaped. Where the caller closed standard output,
    what is written to it is an error; a closed standard error becomes the null device. Yields the
    descriptors of the streams that could be replaced.
    """
    before = sys.stdout, sys.stderr
    descriptors: list[Descriptor] = []
    sys.stdout = _closed(descriptors) if sys.stdout is None else _robust(sys.stdout, descriptors)
    sys.stderr = _robust(sys.stderr, descriptors)
    try:
        yield descriptors
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        sys.stdout, sys.stderr = before


def _closed(descriptors: list[Descriptor]) -> TextIO:
    descriptors.append(Descriptor(None))
    return io.TextIOWrapper(
        io.BufferedWriter(descriptors[-1]), encoding="utf-8", errors="backslashreplace"
    )


def _robust(stream: TextIO | None, descriptors: list[Descriptor]) -> TextIO:
    if stream is None:
        return open(os.devnull, "w", encoding="utf-8")  # lives as long as the block
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    if not isinstance(getattr(stream.buffer, "raw", stream.buffer), io.FileIO):
        stream.reconfigure(errors="backslashreplace")  # a console of Windows, or a test's stream
        return stream
    stream.flush()
    descriptors.append(Descriptor(stream.fileno()))
    return io.TextIOWrapper(
        io.BufferedWriter(descriptors[-1]),
        encoding=stream.encoding,
        errors="backslashreplace",
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )
