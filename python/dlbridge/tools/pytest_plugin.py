# SPDX-License-Identifier: BSD-3-Clause
"""pytest --dlpack MODULE:FACTORY: one test for every rule of DLPack, run in child processes.

pytest loads this module wherever dlbridge or dlbridge-tools is installed; it imports only pytest,
and collects nothing, until it is asked: by --dlpack, by the id of a rule among the arguments, or,
where pytest gets no arguments, by DLPACK_TESTS_MODULE or the ini file.
"""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conformance import Examination
    from .conformance.waivers import Waiver

ASKED: pytest.StashKey[Examination] = pytest.StashKey()
WAIVERS: pytest.StashKey[Collection[Waiver]] = pytest.StashKey()
IDS: pytest.StashKey[list[str]] = pytest.StashKey()
SKIPPED: pytest.StashKey[str] = pytest.StashKey()  # of a test: the reason
SECTION = "dlpack"  # of a report: what a test that does not fail has to say
VARIABLE = "DLPACK_TESTS_MODULE"  # of the environment: as the ini option dlpack
# The id of a rule's test, as pytest prints it, or of all rules: neither names a file.
ID = re.compile(r"(?P<target>[\w.]+(?::[\w.]+)?)::(?P<rule>[A-Z]-\d+)|(?P<all>[\w.]+:[\w.]+)")


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
    group.addoption(
        "--dlpack-waivers",
        metavar="FILE",
        help="violations that do not fail, with their reasons (ini: dlpack_waivers)",
    )
    for mark, effect in MARKS.items():
        group.addoption(
            f"--dlpack-{mark}s-file",
            metavar="FILE",
            help=f"parts of ids, one on a line: {effect} (ini: dlpack_{mark}s_file)",
        )
        parser.addini(f"dlpack_{mark}s_file", f"a file, as --dlpack-{mark}s-file", default="")
    parser.addini("dlpack", "MODULE:FACTORY, as --dlpack", default="")
    parser.addini("dlpack_consumer", "MODULE:FUNCTION, as --dlpack-consumer", default="")
    parser.addini("dlpack_standard", "a version, as --dlpack-standard", default="")
    parser.addini("dlpack_waivers", "a file, as --dlpack-waivers", default="")


MARKS = {"skip": "their rules are not examined", "xfail": "their rules may fail"}


def _given(config: pytest.Config, name: str) -> str | None:
    return config.getoption(name) or config.getini(name) or None


def _file(config: pytest.Config, name: str) -> Path | None:
    """Returns the path of an option, or that of the ini file, relative to the root directory."""
    option, ini = config.getoption(name), config.getini(name)
    return Path(option) if option else config.rootpath / ini if ini else None


def pytest_configure(config: pytest.Config) -> None:
    """Takes the ids of rules out of the arguments, which pytest would look for as files."""
    ids = [each for each in config.args if _is_id(each)]
    config.stash[IDS] = ids
    config.args[:] = [each for each in config.args if each not in ids]


def _is_id(argument: str) -> bool:
    found = ID.fullmatch(argument)
    return found is not None and (found["all"] is None or not Path(argument).exists())


def _asked(config: pytest.Config) -> tuple[str, set[str]] | None:
    """Returns the target, and the rules that were chosen by their ids, none where all are.

    None where nothing was asked for. Raises UsageError for ids of several targets.
    """
    option: str | None = config.getoption("dlpack")
    found = [ID.fullmatch(each) for each in config.stash[IDS]]
    targets = {each["target"] or each["all"] for each in found if each}
    targets |= {option} if option else set()
    if len(targets) > 1:
        raise pytest.UsageError(f"expected rules of one target; got {', '.join(sorted(targets))}")
    if targets:
        chosen = {each["rule"] for each in found if each}
        return targets.pop(), chosen if None not in chosen else set()
    if config.getoption("file_or_dir"):  # of others
        return None
    target = os.environ.get(VARIABLE) or config.getini("dlpack")
    return (target, set()) if target else None


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose among the items
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    asked = _asked(config)
    if asked is None:
        return
    target, chosen = asked
    from .conformance import CannotExamine, Examination, waivers
    from .conformance.rules import RULES, STANDARDS

    if unknown := chosen - RULES.keys():
        raise pytest.UsageError(f"there is no rule {', '.join(sorted(unknown))}")
    standard = _given(config, "dlpack_standard")
    if standard is not None and standard not in STANDARDS:
        raise pytest.UsageError(
            f"--dlpack-standard: expected one of {', '.join(STANDARDS)}; got {standard!r}"
        )
    try:
        file = _file(config, "dlpack_waivers")
        config.stash[WAIVERS] = waivers.read(file, RULES) if file else []
        consumer = _given(config, "dlpack_consumer")
        # The outcome of a rule must not depend on which rules ran before.
        examination = Examination(target, consumer=consumer, standard=standard, waived=RULES)
    except waivers.BadWaivers as why:
        raise pytest.UsageError(f"dlpack_waivers: {why}") from None
    except CannotExamine as why:
        raise pytest.UsageError(f"--dlpack: {why}") from None
    config.stash[ASKED] = examination
    config.add_cleanup(examination.close)
    rules: Any = Rules.from_parent(session, name=target, nodeid=target)
    rules.listed = {mark: _listed(config, mark, target, RULES) for mark in MARKS}
    rules.chosen = [each for each in RULES if not chosen or each in chosen]
    items.extend(session.genitems(rules))


def _listed(
    config: pytest.Config, mark: str, target: str, rules: Collection[str]
) -> dict[str, str]:
    """Returns the rules that a file lists by parts of their ids, each with the reason to state.

    The file has the form of those of array-api-tests.
    """
    path = _file(config, f"dlpack_{mark}s_file")
    if path is None:
        return {}
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as why:
        raise pytest.UsageError(f"--dlpack-{mark}s-file: {path}: {why}") from None
    listed: dict[str, str] = {}
    for part in (line for line in lines if line and not line.startswith("#")):
        found = {rule: f"{part} in {path.name}" for rule in rules if part in f"{target}::{rule}"}
        listed.update(found)
        if not found:
            text = f"{path}: no id of a rule contains {part!r}"
            warnings.warn(pytest.PytestWarning(text), stacklevel=2)
    return listed


class Rules(pytest.Collector):
    """Collects the chosen rules for one target."""

    chosen: Sequence[str]
    listed: dict[str, dict[str, str]]  # by mark and rule: the reason

    def collect(self) -> Iterator[pytest.Item]:
        for rule in self.chosen:
            item = RuleItem.from_parent(self, name=rule)
            if rule in self.listed["skip"]:
                item.stash[SKIPPED] = self.listed["skip"][rule]
            if rule in self.listed["xfail"]:
                item.add_marker(pytest.mark.xfail(reason=self.listed["xfail"][rule]))
            yield item


class RuleItem(pytest.Item):
    """The test of one rule: a failure fails it, a warning warns, a waived violation is xfailed."""

    def runtest(self) -> None:
        from .conformance.rendering.junit import describe, properties
        from .conformance.rendering.terminal import remarks_on_waivers
        from .conformance.waivers import apply_waivers

        if reason := self.stash.get(SKIPPED, ""):  # the mark skip would need a line of a file
            pytest.skip(reason)
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
    """Prints the notes and the waivers without effect; on GitHub the failures as annotations."""
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
    if os.environ.get("GITHUB_ACTIONS") == "true":
        for line in _annotations(terminalreporter):
            terminalreporter.write_line(line)


def _annotations(terminalreporter: pytest.TerminalReporter) -> Iterator[str]:
    """Yields an annotation for each rule that failed."""
    from .conformance.rendering import github

    for report in terminalreporter.stats.get("failed", []):
        found = ID.fullmatch(report.nodeid)
        if found is not None and found["rule"]:
            title = f"DLPack {found['rule']} of {found['target']}"
            yield github.command("error", title, report.longreprtext)
