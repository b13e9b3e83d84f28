"""How a probe ends if its rule does not simply hold: a violation, or a reason to skip the rule."""

from __future__ import annotations

from dlbridge.tools.conformance.rules import Severity


class Broken(BaseException):
    """The rule is violated. Raised by a probe, also through handlers of Exception.

    `got` describes the violation in full. By default `expected`, `fix` and the severity are those
    of the rule; a probe lowers the severity of a violation that other libraries tolerate.
    """

    def __init__(
        self,
        got: str,
        *,
        expected: str | None = None,
        fix: str | None = None,
        severity: Severity | None = None,
    ) -> None:
        super().__init__(got)
        self.got, self.expected, self.fix, self.severity = got, expected, fix, severity


class Skip(BaseException):
    """The rule cannot be examined on this target; the text is the reason. Raised as Broken is."""


def name_error(error: BaseException) -> str:
    """Formats an exception in one line.

    >>> name_error(ValueError("no such dtype"))
    'ValueError: no such dtype'
    """
    message = " ".join(str(error).split())
    return f"{type(error).__name__}: {message}" if message else type(error).__name__
