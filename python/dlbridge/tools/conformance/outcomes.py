# SPDX-License-Identifier: BSD-3-Clause
"""How a probe ends if its rule does not simply hold: a violation, or a reason to skip the rule."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator


class Broken(BaseException):
    """The rule is violated. Raised by a probe, also through handlers of Exception.

    `got` describes the violation in full. By default `expected` and `fix` are those of the rule.
    """

    def __init__(self, got: str, *, expected: str | None = None, fix: str | None = None) -> None:
        super().__init__(got)
        self.got, self.expected, self.fix = got, expected, fix


class Skip(BaseException):
    """The rule cannot be examined on this target; the text is the reason. Raised as Broken is."""


class Panic(Exception):
    """In place of what a library raised that is no Exception, such as a panic of Rust."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@contextlib.contextmanager
def library_code() -> Iterator[None]:
    """Lets handlers of Exception handle whatever the code of a library raises in this block."""
    try:
        yield
    except (Exception, Broken, Skip, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise Panic(error) from error


def name_error(error: BaseException) -> str:
    """Formats an exception in one line.

    >>> name_error(ValueError("no such dtype"))
    'ValueError: no such dtype'
    """
    error = error.error if isinstance(error, Panic) else error
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
