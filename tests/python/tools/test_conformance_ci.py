# SPDX-License-Identifier: BSD-3-Clause
"""What the CI of others reads: waivers, JUnit, annotations, a badge, the plugin's properties."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path
from typing import Any, Callable

import pytest
from test_conformance import TARGETS, Run, command, run_pytest

from dlbridge.tools.conformance import rules, waivers
from dlbridge.tools.conformance.rendering import badge, github, junit, terminal
from dlbridge.tools.conformance.results import Outcome, Report, Result
from dlbridge.tools.conformance.rules import Text
from dlbridge.tools.conformance.waivers import BadWaivers, Waiver

__all__ = ["run_pytest"]  # a fixture

pytest_plugins = ["pytester"]

RULES = dict.fromkeys(["P-01", "P-02", "P-03", "P-04", "P-05", "P-06"])
SENTENCE = "Must raise <BufferError> & nothing else."
SOURCE = Text("array API", "2023.12", "__dlpack__, copy", SENTENCE, "must")


def result(rule: str, outcome: Outcome, **more: Any) -> Result:
    texts = {"expected": f"{rule} holds.", "got": f"{outcome} of {rule}", "fix": "Mend it."}
    severity = {"warn": "W", "note": "N"}.get(outcome, "F")
    fields = {"kind": "must", "severity": severity, "sources": (SOURCE,), "seconds": 0.25, **texts}
    return Result(id=rule, outcome=outcome, **{**fields, **more})


def a_report(*results: Result, **more: Any) -> Report:
    fields = {
        "consumer": None,
        "standard": None,
        "versions": {"python": "3.12.3", "lib": None},
        **more,
    }
    return Report(target="lib:make", results=list(results), **fields)


ONE_OF_EACH = a_report(
    result("P-01", "pass"),
    result("P-02", "skip"),
    result("P-03", "note", kind="hardening"),
    result("P-04", "warn", kind="should"),
    result("P-05", "fail"),
    result("P-06", "crash", kind="unsound"),
    standard="2023.12",
)


def waived(report: Report, *given: Waiver) -> Report:
    return replace(report, results=waivers.apply_waivers(report.results, given))


# Waivers -----------------------------------------------------------------------------------------


def write(path: Path, *rows: Any) -> Path:
    path.write_text(json.dumps({"waivers": rows}))
    return path


def test_a_file_of_waivers(tmp_path: Path) -> None:
    path = write(
        tmp_path / "waivers.json",
        {"id": "P-01", "reason": "#7"},
        {"id": "P-02", "reason": "old", "strict": False, "outcome": "warn"},
    )
    assert waivers.read(path, RULES) == [
        Waiver("P-01", "#7", strict=True, outcome=None),
        Waiver("P-02", "old", strict=False, outcome="warn"),
    ]


def test_the_file_of_the_page(tmp_path: Path) -> None:
    page = (TARGETS.parents[2] / "docs" / "howto" / "conformance_in_ci.md").read_text()
    (block,) = (each for each in page.split("```") if each.startswith('text\n{"waivers"'))
    path = tmp_path / "waivers.json"
    path.write_text(block.partition("\n")[2])
    assert [waiver.id for waiver in waivers.read(path, rules.RULES)] == ["P-24", "X-09"]


def test_a_file_of_waivers_that_is_nested_too_deeply(tmp_path: Path) -> None:
    path = tmp_path / "waivers.json"
    path.write_text("[" * 200_000)
    with pytest.raises(waivers.BadWaivers, match="nested too deeply"):
        waivers.read(path, RULES)


TOML = '[[waivers]]\nid = "P-01"\nreason = "#7"\nstrict = false\n'


@pytest.mark.skipif(sys.version_info < (3, 11), reason="has no tomllib")
def test_a_file_in_toml(tmp_path: Path) -> None:
    path = tmp_path / "waivers.toml"
    path.write_text(TOML)
    assert waivers.read(path, RULES) == [Waiver("P-01", "#7", strict=False)]


def test_toml_without_a_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in waivers.PARSERS_OF_TOML:
        monkeypatch.setitem(sys.modules, name, None)
    path = tmp_path / "waivers.toml"
    path.write_text(TOML)
    with pytest.raises(BadWaivers, match="write the waivers as JSON instead"):
        waivers.read(path, RULES)


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"id": "P-99", "reason": "x"}], "waiver 1: there is no rule 'P-99'"),
        ([{"reason": "x"}], "waiver 1: there is no rule None"),
        ([{"id": "P-01"}], "waiver 1: P-01 needs a reason"),
        ([{"id": "P-01", "reason": " "}], "waiver 1: P-01 needs a reason"),
        ([{"id": "P-01", "reason": "x"}] * 2, "waiver 2: P-01 has a waiver already"),
        ([{"id": "P-01", "reason": "x", "until": 1}], "unknown key 'until'"),
        ([{"id": "P-01", "reason": "x", "strict": 1}], "strict is true or false; got 1"),
        (
            [{"id": "P-01", "reason": "x", "outcome": "skip"}],
            "outcome is crash, fail, warn, note; got 'skip'",
        ),
        ([{"id": ["P-01"], "reason": "x", "outcome": []}], "there is no rule ['P-01']"),
        ([{"id": "P-01", "reason": "x", "outcome": []}], "got []"),
        (["P-01"], "expected an object with id and reason; got 'P-01'"),
    ],
)
def test_a_bad_waiver(rows: list[Any], words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "waivers.json", *rows)
    with pytest.raises(BadWaivers) as raised:
        waivers.read(path, RULES)
    assert str(path) in str(raised.value)
    assert words in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("waivers.json", "[]", 'expected a list named "waivers"'),
        ("waivers.json", "{}", 'expected a list named "waivers"'),
        ("waivers.json", "{", "Expecting property name"),
        ("waivers.yaml", "", "expected a file named *.json or *.toml"),
    ],
)
def test_a_bad_file(name: str, text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(BadWaivers) as raised:
        waivers.read(tmp_path / name, RULES)
    assert words in str(raised.value)


def test_a_missing_file_is_wrong_usage(tmp_path: Path) -> None:
    process = command("conformance_targets:NoDevice", "--waivers", str(tmp_path / "none.json"))
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr.endswith("none.json: No such file or directory\n")
    assert process.stderr.count("none.json") == 1


@pytest.mark.parametrize("outcome", ["crash", "fail", "warn", "note"])
def test_a_waived_violation_does_not_count(outcome: Outcome) -> None:
    report = waived(a_report(result("P-01", outcome)), Waiver("P-01", "known"))
    assert report.results[0].outcome == outcome
    assert report.results[0].waiver is not None
    assert (report.results[0].waiver.state, report.status) == ("waived", 0)


@pytest.mark.parametrize(("strict", "status"), [(True, 1), (False, 0)])
def test_an_unexpected_pass(strict: bool, status: int) -> None:
    report = waived(a_report(result("P-01", "pass")), Waiver("P-01", "known", strict=strict))
    assert report.results[0].waiver is not None
    assert report.results[0].waiver.state == "unexpected pass"
    assert report.status == status


def test_a_waiver_of_one_outcome() -> None:
    crash = a_report(result("P-01", "crash"))
    assert waived(crash, Waiver("P-01", "known", outcome="crash")).status == 0
    other = waived(crash, Waiver("P-01", "known", outcome="fail"))
    assert other.results[0].waiver is not None
    assert (other.results[0].waiver.state, other.status) == ("other outcome", 1)


def test_a_waiver_of_a_skipped_rule_is_unused() -> None:
    report = waived(
        a_report(result("P-01", "skip"), result("P-02", "pass")), Waiver("P-01", "known")
    )
    assert report.results[0].waiver is not None
    assert (report.results[0].waiver.state, report.status) == ("unused", 0)


def test_a_waiver_of_a_rule_that_was_not_chosen() -> None:
    report = waived(a_report(result("P-01", "pass")), Waiver("P-02", "known"))
    assert (report.results[0].waiver, report.status) == (None, 0)


def shown(report: Report, *, verbose: bool = False) -> str:
    return "".join(
        f"{word}{text}\n" for word, _, text in terminal.lines(report, 100, verbose=verbose)
    )


def test_the_report_folds_what_is_waived() -> None:
    report = waived(
        ONE_OF_EACH,
        Waiver("P-01", "a"),
        Waiver("P-02", "b"),
        Waiver("P-04", "c", outcome="fail"),
        Waiver("P-06", "d"),
    )
    text = shown(report)
    assert "\ncrash  P-06   waived: d; crash of P-06\n" in text
    assert "\nP-01: FAIL: the rule holds, but a waiver says that it does not (a)\n" in text
    assert "\nP-02: its waiver was not used, as the rule was skipped (b)\n" in text
    assert "\nP-04: its waiver is for another outcome than warn (c)\n" in text
    assert text.endswith("1 of 6 pass, 1 crash, 1 fail, 1 warn, 1 note, 1 skip; 1 waived\n")
    full = shown(report, verbose=True)
    assert "\nCRASH  P-06   P-06 holds.\n       got    crash of P-06\n" in full
    assert "\n       waiver waived: d\n" in full
    lax = shown(waived(ONE_OF_EACH, Waiver("P-01", "a", strict=False)))
    assert "\nP-01: the rule holds; its waiver can be removed (a)\n" in lax


def test_waivers_on_the_command_line(tmp_path: Path) -> None:
    path = write(tmp_path / "waivers.json", {"id": "P-01", "reason": "no device yet"})
    options = ("--standard=2023.12", "--only=P-01", "--waivers", str(path))
    arguments = ("conformance_targets:NoDevice", *options)
    process = command(*arguments, "--json")
    assert (process.returncode, process.stderr) == (0, "")
    (row,) = json.loads(process.stdout)["results"]
    assert row["outcome"] == "fail"
    assert row["waiver"] == {"reason": "no device yet", "strict": True, "state": "waived"}
    passes = command("conformance_targets:OldStyle", *arguments[1:])
    assert passes.returncode == 1
    assert "P-01: FAIL: the rule holds" in passes.stdout
    wrong = command(*arguments[:-1], str(write(path, {"id": "P-01"})))
    assert (wrong.returncode, wrong.stdout) == (2, "")
    assert "waiver 1: P-01 needs a reason" in wrong.stderr


def test_a_file_for_two_reports_is_refused(tmp_path: Path) -> None:
    report, same = str(tmp_path / "r"), str(tmp_path / "folder" / ".." / "r")
    (tmp_path / "folder").mkdir()
    for arguments in (
        ("conformance", "conformance_targets:tensor", "--junit", report, "--badge", same),
        ("matrix", "--only", "dlbridge", "--html", report, "--json", same),
    ):
        process = subprocess.run(
            [sys.executable, "-m", "dlbridge", *arguments],
            capture_output=True,
            text=True,
            cwd=TARGETS,
        )
        assert (process.returncode, process.stdout) == (2, "")
        assert f"{same} is named for two reports; name a file for each" in process.stderr
        assert not Path(report).exists()


# JUnit -------------------------------------------------------------------------------------------


def parsed(report: Report) -> tuple[ET.Element, dict[str, ET.Element]]:
    """Returns the test suite and its test cases."""
    root = ET.fromstring(junit.render(report).encode())
    (suite,) = root
    assert root.attrib == {
        "name": "dlbridge conformance",
        **{each: suite.attrib[each] for each in ("tests", "failures", "errors", "time")},
    }
    return suite, {case.attrib["name"]: case for case in suite.iter("testcase")}


def properties(element: ET.Element) -> dict[str, str]:
    found = element.find("properties")
    assert found is not None
    return {each.attrib["name"]: each.attrib["value"] for each in found}


def test_junit_has_the_outcomes() -> None:
    suite, cases = parsed(ONE_OF_EACH)
    assert suite.attrib == {
        "name": "DLPack: lib:make",
        "tests": "6",
        "failures": "1",
        "errors": "1",
        "skipped": "1",
        "time": "1.500",
    }
    tags = {
        name: [each.tag for each in case if each.tag != "properties"]
        for name, case in cases.items()
    }
    assert tags == {
        "P-01": [],
        "P-02": ["skipped"],
        "P-03": ["system-out"],
        "P-04": ["system-out"],
        "P-05": ["failure"],
        "P-06": ["error"],
    }
    assert cases["P-01"].attrib == {
        "classname": "dlpack.lib:make",
        "name": "P-01",
        "time": "0.250",
    }
    failure, skipped = cases["P-05"].find("failure"), cases["P-02"].find("skipped")
    assert failure is not None and skipped is not None
    assert failure.attrib == {"message": "fail of P-05", "type": "must"}
    assert failure.text is not None
    assert "  fix: Mend it.\n" in failure.text
    assert 'array API 2023.12, __dlpack__, copy: "Must raise <BufferError> &' in failure.text
    assert skipped.attrib["message"] == "skip of P-02"
    text = cases["P-04"].findtext("system-out") or ""
    assert text.startswith("WARN P-04: warn of P-04\n")


def test_junit_has_properties() -> None:
    suite, cases = parsed(ONE_OF_EACH)
    given = properties(suite)
    assert given["target"] == "lib:make"
    assert given["standard"] == "2023.12"
    assert given["version of python"] == "3.12.3"
    assert given["version of lib"] == "unknown"
    assert properties(cases["P-04"]) == {
        "outcome": "warn",
        "kind": "should",
        "severity": "W",
        "document": "array API 2023.12",
        "place": SOURCE.place,
        "sentence": SOURCE.sentence,
    }


def test_junit_with_waivers() -> None:
    report = waived(ONE_OF_EACH, Waiver("P-01", "a"), Waiver("P-05", "b"))
    suite, cases = parsed(report)
    counts = {name: suite.attrib[name] for name in ("failures", "errors", "skipped")}
    assert counts == {"failures": "1", "errors": "1", "skipped": "2"}
    skipped, failure = cases["P-05"].find("skipped"), cases["P-01"].find("failure")
    assert skipped is not None and failure is not None
    assert skipped.attrib == {"message": "waived: b", "type": "waived"}
    assert "a waiver says that it does not (a)" in (failure.text or "")
    assert properties(cases["P-05"])["waiver"] == "waived"
    assert properties(cases["P-05"])["waiver reason"] == "b"


def test_junit_has_no_character_that_xml_cannot_have() -> None:
    strange = result("P-01", "fail", got="\x1b[1m\x00\ud800\uffff]]> \U0001f600")
    _, cases = parsed(a_report(strange))
    failure = cases["P-01"].find("failure")
    assert failure is not None
    assert failure.attrib["message"] == "\\x1b[1m\\x00\\ud800\\uffff]]> \U0001f600"


# Annotations and the badge -----------------------------------------------------------------------


def test_annotations_are_the_violations_the_worst_first() -> None:
    lines = github.render(ONE_OF_EACH).splitlines()
    assert [line.partition("::lib")[0].split(" of ")[0] for line in lines] == [
        "::error title=DLPack P-06",
        "::error title=DLPack P-05",
        "::warning title=DLPack P-04",
        "::notice title=DLPack P-03",
    ]
    assert lines[1] == (
        "::error title=DLPack P-05 of lib%3Amake::"
        "fail of P-05%0Aexpected: P-05 holds.%0Afix: Mend it."
    )


def test_annotations_are_escaped() -> None:
    report = a_report(result("P-01", "fail", got="50 %,\r\n::error::x"))
    text = github.render(replace(report, target="a:b,c"))
    assert text.startswith("::error title=DLPack P-01 of a%3Ab%2Cc::50 %25,%0D%0A::error::x%0A")
    assert text.count("\n") == 1


def test_annotations_with_waivers() -> None:
    report = waived(ONE_OF_EACH, Waiver("P-01", "a"), Waiver("P-02", "b"), Waiver("P-05", "c"))
    lines = github.render(report).splitlines()
    assert "::notice title=DLPack P-05 of lib%3Amake::waived: c" in lines
    assert any(
        line.startswith("::error title=DLPack P-01 of lib%3Amake::P-01: FAIL") for line in lines
    )
    assert any(
        line.startswith("::notice title=DLPack P-02 of lib%3Amake::P-02: its") for line in lines
    )


@pytest.mark.parametrize(
    ("outcomes", "message", "color"),
    [
        (["pass", "pass", "note"], "3 of 3", "brightgreen"),
        (["pass", "skip"], "1 of 1", "brightgreen"),
        (["pass", "warn"], "1 of 2", "yellow"),
        (["pass", "warn", "fail"], "1 of 3", "red"),
        (["crash"], "0 of 1", "red"),
        (["skip"], "not examined", "lightgrey"),
    ],
)
def test_the_badge(outcomes: list[Outcome], message: str, color: str) -> None:
    report = a_report(*(result(rule, outcome) for rule, outcome in zip(RULES, outcomes)))
    assert json.loads(badge.render(report)) == {
        "schemaVersion": 1,
        "label": "DLPack",
        "message": message,
        "color": color,
    }


def test_the_badge_of_other_reports() -> None:
    report = a_report(result("P-01", "pass"), result("P-02", "fail"))
    waived_one = json.loads(badge.render(waived(report, Waiver("P-02", "known"))))
    assert (waived_one["message"], waived_one["color"]) == ("1 of 2", "yellow")
    assert json.loads(badge.render(replace(report, complete=False)))["message"] == "interrupted"


def test_files_and_annotations_of_the_command(tmp_path: Path) -> None:
    files = {name: str(tmp_path / name) for name in ("junit", "badge")}
    process = command(
        "conformance_targets:NoDevice", "--standard=2023.12", "--only=P-01", "--json",
        "--annotations",
        *(f"--{option}={file}" for option, file in files.items()),
    )  # fmt: skip
    assert process.returncode == 1
    assert json.loads(process.stdout)["counts"]["fail"] == 1
    assert process.stderr.startswith(
        "::error title=DLPack P-01 of conformance_targets%3ANoDevice::"
    )
    assert ET.parse(files["junit"]).getroot().attrib["failures"] == "1"
    assert json.loads(Path(files["badge"]).read_text())["message"] == "0 of 1"


@pytest.mark.parametrize("option", ["--junit", "--badge"])
def test_a_file_that_cannot_be_written(option: str, tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing" / "file"):
        process = command("conformance_targets:NoDevice", option, str(path))
        assert (process.returncode, process.stdout) == (2, "")
        assert f"{path} cannot be written" in process.stderr


# The plugin of pytest ----------------------------------------------------------------------------

CONFTEST = """
from dlbridge.tools.conformance import Examination
from dlbridge.tools.conformance.results import Result
from dlbridge.tools.conformance.rules import Text

SOURCE = Text("dlpack.h", "1.3", "data", "Is said.", "states")


def examine(self, rule):
    fields = dict(kind="should", severity="N", expected="It holds.", fix="Mend it.")
    outcome = OUTCOMES.get(rule, "pass")
    return Result(id=rule, outcome=outcome, got="it is so", sources=(SOURCE,), **fields)


Examination.examine = examine
OUTCOMES = """


def run_with(
    pytester: pytest.Pytester, run: Run, outcomes: dict[str, str], *arguments: str
) -> pytest.RunResult:
    """Runs the plugin with results that are given."""
    pytester.makeconftest(CONFTEST + repr(outcomes))
    chosen = " or ".join(outcomes)
    return run("--dlpack", "conformance_targets:NoDevice", "-k", chosen, *arguments)


def test_plugin_shows_notes(pytester: pytest.Pytester, run_pytest: Run) -> None:
    run = run_with(pytester, run_pytest, {"P-01": "note", "P-02": "pass"})
    run.assert_outcomes(passed=2, deselected=run.parseoutcomes()["deselected"])
    run.stdout.fnmatch_lines(["*= DLPack =*", "P-01: note: it is so; fix: Mend it."])
    run.stdout.no_fnmatch_line("P-02:*")


def test_plugin_writes_properties(pytester: pytest.Pytester, run_pytest: Run) -> None:
    outcomes = {"P-01": "note", "P-02": "fail"}
    run_with(pytester, run_pytest, outcomes, "--junitxml=junit.xml", "-o", "junit_family=xunit2")
    root = ET.parse(pytester.path / "junit.xml").getroot()
    cases = {case.attrib["name"]: properties(case) for case in root.iter("testcase")}
    assert {name: case["outcome"] for name, case in cases.items()} == outcomes
    assert cases["P-01"] == {
        "outcome": "note",
        "kind": "should",
        "severity": "N",
        "document": "dlpack.h 1.3",
        "place": "data",
        "sentence": "Is said.",
    }


@pytest.mark.parametrize("option", [(), ("--dlpack-waivers", "waivers.json")])
def test_plugin_waives(option: tuple[str, ...], pytester: pytest.Pytester, run_pytest: Run) -> None:
    outcomes = {"P-01": "fail", "P-02": "warn", "P-03": "pass", "P-04": "pass", "P-05": "skip"}
    rows = [{"id": rule, "reason": "known", "strict": rule != "P-04"} for rule in outcomes]
    write(pytester.path / "waivers.json", *rows)
    if not option:
        pytester.makeini("[pytest]\ndlpack_waivers = waivers.json\n")
    run = run_with(pytester, run_pytest, outcomes, "-rx", "-W", "error", *option)
    counts = run.parseoutcomes()
    counts.pop("deselected")
    assert counts == {"xfailed": 2, "failed": 1, "passed": 1, "skipped": 1}
    run.stdout.fnmatch_lines(
        [
            "P-03: FAIL: the rule holds, but a waiver says that it does not (known)",
            "*= DLPack =*",
            "P-04: the rule holds; its waiver can be removed (known)",
            "P-05: its waiver was not used, as the rule was skipped (known)",
            "*= short test summary info =*",
            "XFAIL *P-01 - known",
        ]
    )
    assert run.stdout.str().count("P-05: its waiver") == 1


GIVEN = "conformance_targets:NoDevice"


@pytest.fixture
def run_given(pytester: pytest.Pytester, run_pytest: Run) -> Callable[..., list[str]]:
    """Runs pytest with a rule that is violated and others that hold, beside a test of one's own.

    Returns the lines of its report that have an id and an outcome.
    """
    pytester.makeconftest(CONFTEST + repr({"P-02": "fail"}))
    pytester.makeini(f"[pytest]\ndlpack = {GIVEN}\n")
    pytester.mkdir("tests").joinpath("test_own.py").write_text("def test_own(): pass\n")

    def run(*arguments: str) -> list[str]:
        ended = run_pytest("-v", "-rA", *arguments)
        if not (ended.ret == pytest.ExitCode.USAGE_ERROR or {"-k", "-n2"} & set(arguments)):
            collected = re.findall(r"collected (\d+) items?", ended.stdout.str())
            assert collected == [str(sum(ended.parseoutcomes().values()))]
        begin = ("PASSED ", "FAILED ", "SKIPPED ", "XFAIL ", "XPASS ", "ERROR")
        return [line for line in (*ended.outlines, *ended.errlines) if line.startswith(begin)]

    return run


OWN = "tests/test_own.py::test_own"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([OWN], {OWN}),
        (["tests"], {OWN}),
        ([f"{GIVEN}::P-01"], {f"{GIVEN}::P-01"}),
        ([f"{GIVEN}::P-01", OWN], {f"{GIVEN}::P-01", OWN}),
        (["--dlpack", GIVEN, "tests", "-k", "own or P-01"], {f"{GIVEN}::P-01", OWN}),
        (["--dlpack", GIVEN, f"{GIVEN}::P-01", f"{GIVEN}::P-03"],
         {f"{GIVEN}::P-01", f"{GIVEN}::P-03"}),
        (["-o", "dlpack=", f"{GIVEN}::P-03"], {f"{GIVEN}::P-03"}),  # reproduces without the ini
        ([GIVEN], {f"{GIVEN}::{rule}" for rule in rules.RULES}),
        ([], {OWN, *(f"{GIVEN}::{rule}" for rule in rules.RULES)}),
    ],
)  # fmt: skip
def test_plugin_collects_what_is_asked_for(
    run_given: Callable[..., list[str]], arguments: list[str], expected: set[str]
) -> None:
    lines = run_given(*arguments)
    assert {line.split()[1] for line in lines} == expected
    assert len(lines) == len(expected)


def test_plugin_runs_the_ids_in_several_processes(run_given: Callable[..., list[str]]) -> None:
    pytest.importorskip("xdist")
    assert run_given("-p", "xdist", "-n2", f"{GIVEN}::P-01") == [f"PASSED {GIVEN}::P-01"]


def test_plugin_by_the_environment(
    run_given: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DLPACK_TESTS_MODULE", "conformance_targets:OldStyle")
    assert run_given("-k", "P-01") == ["PASSED conformance_targets:OldStyle::P-01"]
    assert run_given(OWN) == [f"PASSED {OWN}"]
    assert run_given("--dlpack", GIVEN, "-k", "P-01") == [f"PASSED {GIVEN}::P-01"]


def test_plugin_refuses_ids_that_do_not_exist(run_given: Callable[..., list[str]]) -> None:
    assert run_given(f"{GIVEN}::P-99") == ["ERROR: there is no rule P-99"]
    lines = run_given("--dlpack", GIVEN, "conformance_targets:OldStyle::P-01")
    assert lines == [f"ERROR: expected rules of one target; got {GIVEN}, conformance_targets:Old"
                     "Style"]  # fmt: skip
    (line,) = run_given("nosuch:make::P-01")
    assert line.startswith("ERROR: --dlpack: nosuch:make: ")


LISTS = f"""# A comment, and an empty line

{GIVEN}::P-01
P-02
"""


def test_plugin_with_files_in_the_form_of_array_api_tests(
    pytester: pytest.Pytester, run_given: Callable[..., list[str]]
) -> None:
    (pytester.path / "listed.txt").write_text(LISTS)
    chosen = [f"{GIVEN}::P-0{number}" for number in (1, 2, 3)]
    failing, kept = f"XFAIL {GIVEN}::P-02 - P-02 in listed.txt", f"PASSED {GIVEN}::P-03"
    xfailed = run_given("--dlpack-xfails-file=listed.txt", *chosen)
    assert {failing, kept} < set(xfailed)
    assert [line for line in xfailed if line.startswith(f"XPASS {GIVEN}::P-01")]
    of_ini = run_given("-o", "dlpack_xfails_file=listed.txt", "-o", "xfail_strict=true", *chosen)
    assert {f"FAILED {GIVEN}::P-01", failing, kept} == {
        line.partition(" - [")[0] for line in of_ini
    }


def test_plugin_skips_what_a_file_lists(
    pytester: pytest.Pytester, run_given: Callable[..., list[str]]
) -> None:
    (pytester.path / "listed.txt").write_text("P-02\n")
    skipped, kept = run_given("--dlpack-skips-file=listed.txt", f"{GIVEN}::P-01", f"{GIVEN}::P-02")
    assert skipped == f"PASSED {GIVEN}::P-01"
    assert kept.startswith("SKIPPED [1] ") and kept.endswith(": P-02 in listed.txt")


def test_plugin_names_lines_without_effect(pytester: pytest.Pytester, run_pytest: Run) -> None:
    (pytester.path / "listed.txt").write_text("P-99\n")
    options = ("--dlpack-skips-file=listed.txt", f"{GIVEN}::P-01")
    run_pytest(*options).stdout.fnmatch_lines(["*listed.txt: no id of a rule contains 'P-99'"])
    missing = run_pytest("--dlpack-skips-file=missing.txt", f"{GIVEN}::P-01")
    missing.stderr.fnmatch_lines(["ERROR: --dlpack-skips-file: missing.txt: * No such file *"])


def test_plugin_annotates_on_github(
    pytester: pytest.Pytester, run_pytest: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    def annotations() -> list[str]:
        run = run_with(pytester, run_pytest, {"P-01": "pass", "P-02": "fail"})
        return [line for line in run.outlines if line.startswith("::")]

    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert annotations() == []
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    (line,) = annotations()
    title = "::error title=DLPack P-02 of conformance_targets%3ANoDevice::"
    assert line.startswith(f"{title}P-02: it is so%0A  expected: It holds.%0A  fix: Mend it.%0A")


def test_plugin_with_a_bad_file(pytester: pytest.Pytester, run_pytest: Run) -> None:
    write(pytester.path / "waivers.json", {"id": "P-01"})
    run = run_with(pytester, run_pytest, {"P-01": "pass"}, "-o", "dlpack_waivers=waivers.json")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(["ERROR: dlpack_waivers: *waivers.json: waiver 1: P-01 needs*"])


# Other objects in JSON ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [
        ("doctor", "--fast", "--json"),
        ("matrix", "--only", "array", "--case", "vector", "--json"),
        ("conformance", "conformance_targets:NoDevice", "--only=P-01", "--json"),
    ],
)
def test_the_schema_comes_first(arguments: tuple[str, ...]) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "dlbridge", *arguments],
        capture_output=True,
        text=True,
        cwd=TARGETS,
        timeout=600,
    )
    assert next(iter(json.loads(process.stdout).items())) == ("schema", 1)
