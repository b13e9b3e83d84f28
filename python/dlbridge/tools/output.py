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


def plural(count: int, noun: str) -> str:
    """
    >>> plural(1, "byte"), plural(-1, "element"), plural(2, "byte")
    ('1 byte', '-1 element', '2 bytes')
    """
    return f"{count} {noun}{'' if abs(count) == 1 else 's'}"


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


def line_printer(width: int) -> Callable[..., None]:
    """Returns a function that prints a line of texts with rich's styles, which a terminal shows.

    Plain texts are printed where rich is not installed, or where the output is no terminal.
    """
    if sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            from rich.console import Console
            from rich.text import Text

            console = Console(highlight=False, width=width)
            return lambda *parts: console.print(Text.assemble(*parts), soft_wrap=True)
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
