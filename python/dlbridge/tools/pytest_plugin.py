"""pytest --dlpack MODULE:FACTORY: one test for every rule of DLPack, run in child processes.

pytest loads this module wherever dlbridge is installed; it imports only pytest until the option is
used.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dlbridge.tools.conformance import Examination

ASKED: pytest.StashKey[Examination] = pytest.StashKey()


class ConformanceWarning(UserWarning):
    """A rule of severity W is violated: a deviation that other libraries tolerate."""


class NotConforming(Exception):
    """A rule is violated; the text is the report of it."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("dlpack", "conformance to DLPack (dlbridge)")
    group.addoption(
        "--dlpack",
        metavar="MODULE:FACTORY",
        help="one test for every rule of DLPack, on what the factory makes (ini: dlpack)",
    )
    group.addoption(
        "--dlpack-consumer",
        metavar="MODULE:FUNCTION",
        help="the consumer; MODULE:from_dlpack by default (ini: dlpack_consumer)",
    )
    parser.addini("dlpack", "MODULE:FACTORY, as --dlpack", default="")
    parser.addini("dlpack_consumer", "MODULE:FUNCTION, as --dlpack-consumer", default="")


def _given(config: pytest.Config, name: str) -> str | None:
    return config.getoption(name) or config.getini(name) or None


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the items
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    target = _given(config, "dlpack")
    if target is None:
        return
    from dlbridge.tools.conformance import CannotExamine, Examination

    try:
        examination = Examination(target, consumer=_given(config, "dlpack_consumer"))
    except CannotExamine as why:
        raise pytest.UsageError(f"--dlpack: {why}") from None
    config.stash[ASKED] = examination
    config.add_cleanup(examination.close)
    rules: Any = Rules.from_parent(session, name=target, nodeid=target)
    items.extend(session.genitems(rules))


class Rules(pytest.Collector):
    """Collects the rules for one target."""

    def collect(self) -> Iterator[pytest.Item]:
        from dlbridge.tools.conformance.rules import RULES

        for rule in RULES:
            yield RuleItem.from_parent(self, name=rule)


class RuleItem(pytest.Item):
    """The test of one rule: a violation of severity F fails, one of severity W warns."""

    def runtest(self) -> None:
        result = self.config.stash[ASKED].examine(self.name)
        if result.outcome == "skip":
            pytest.skip(result.got)
        lines = [
            f"{result.id}: {result.got}",
            f"  expected: {result.expected}",
            f"  fix: {result.fix}",
            *(f"  source: {each.document} {each.since}, {each.place}" for each in result.sources),
        ]
        if result.outcome in ("fail", "crash"):
            raise NotConforming("\n".join(lines))
        if result.outcome == "warn":
            warnings.warn(ConformanceWarning("\n".join(lines)), stacklevel=1)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotConforming):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self.parent.name if self.parent else ''} {self.name}"
