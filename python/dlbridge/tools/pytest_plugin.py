# SPDX-License-Identifier: BSD-3-Clause
"""pytest --dlpack MODULE:FACTORY: one test for every rule of DLPack, run in child processes.

pytest loads this module wherever dlbridge is installed; it imports only pytest until the option is
used.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from dlbridge.tools.conformance import Examination
    from dlbridge.tools.conformance.waivers import Waiver

ASKED: pytest.StashKey[Examination] = pytest.StashKey()
WAIVERS: pytest.StashKey[Collection[Waiver]] = pytest.StashKey()
SECTION = "dlpack"  # of a report: what a test that does not fail has to say


class ConformanceWarning(UserWarning):
    """A rule of severity W is violated: no requirement of the standard."""


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
    group.addoption(
        "--dlpack-standard",
        metavar="VERSION",
        help="the version of the array API that counts; by default the one that the library claims "
        "(ini: dlpack_standard)",
    )
    parser.addini("dlpack", "MODULE:FACTORY, as --dlpack", default="")
    parser.addini("dlpack_consumer", "MODULE:FUNCTION, as --dlpack-consumer", default="")
    parser.addini("dlpack_standard", "a version, as --dlpack-standard", default="")
    parser.addini("dlpack_waivers", "file of violations that do not fail", default="")


def _given(config: pytest.Config, name: str) -> str | None:
    return config.getoption(name) or config.getini(name) or None


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the items
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    target = _given(config, "dlpack")
    if target is None:
        return
    from dlbridge.tools.conformance import CannotExamine, Examination, waivers
    from dlbridge.tools.conformance.rules import RULES, STANDARDS

    standard = _given(config, "dlpack_standard")
    if standard is not None and standard not in STANDARDS:
        raise pytest.UsageError(
            f"--dlpack-standard: expected one of {', '.join(STANDARDS)}; got {standard!r}"
        )
    try:
        file = config.getini("dlpack_waivers")
        config.stash[WAIVERS] = waivers.read(config.rootpath / file, RULES) if file else []
        consumer = _given(config, "dlpack_consumer")
        examination = Examination(target, consumer=consumer, standard=standard)
    except waivers.BadWaivers as why:
        raise pytest.UsageError(f"dlpack_waivers: {why}") from None
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
    """The test of one rule: a failure fails it, a warning warns, a waived violation is xfailed."""

    def runtest(self) -> None:
        from dlbridge.tools.conformance.rendering.junit import describe, properties
        from dlbridge.tools.conformance.rendering.terminal import remarks_on_waivers
        from dlbridge.tools.conformance.waivers import apply_waivers

        examined = self.config.stash[ASKED].examine(self.name)
        (result,) = apply_waivers([examined], self.config.stash[WAIVERS])
        self.user_properties.extend(properties(result))
        for remark in remarks_on_waivers([result]):
            self.add_report_section("call", SECTION, remark)
        if result.outcome == "skip":
            pytest.skip(result.got)
        if result.is_waived and result.waiver is not None:
            pytest.xfail(result.waiver.reason)
        if result.fails:
            raise NotConforming(describe(result))
        if result.outcome == "note":
            line = f"{result.id}: note: {result.got}; fix: {result.fix}"
            self.add_report_section("call", SECTION, line)
        if result.outcome == "warn":
            warnings.warn(ConformanceWarning(describe(result)), stacklevel=1)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotConforming):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Any, int | None, str]:
        return self.path, None, f"{self.parent.name if self.parent else ''} {self.name}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Prints the notes and the waivers without effect."""
    lines = [
        text
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call" and not report.failed
        for title, text in getattr(report, "sections", ())
        if title == f"Captured {SECTION} call"
    ]
    if lines:
        terminalreporter.section("DLPack")
        for line in lines:
            terminalreporter.write_line(line)
