# SPDX-License-Identifier: BSD-3-Clause
"""The conformance engine on correct, incorrect and missing targets; the report; the plugin."""

from __future__ import annotations

import functools
import io
import json
import os
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Callable

import conformance_targets
import pytest

import dlbridge
from dlbridge.tools import children, conformance
from dlbridge.tools.conformance import (
    CannotExamine,
    Examination,
    engine,
    lane,
    probes,
    registry,
    rules,
    target,
)
from dlbridge.tools.conformance.helpers import exports
from dlbridge.tools.conformance.lane import Lane
from dlbridge.tools.conformance.rendering import terminal

pytest_plugins = ["pytester"]

TARGETS = Path(__file__).parent
OURS, OUR_CONSUMER = "conformance_targets:tensor", "dlbridge:from_dlpack"
# Need device memory (test_device_conformance.py), or what neither Tensor nor its factory has.
NOT_HERE = {"P-27", "P-52", "S-05", "S-10", "S-21", "S-22"} | {
    "P-30", "P-43", "P-46", "P-53", "C-34", "S-16",
}  # fmt: skip


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs the command in the folder of conformance_targets.py."""
    return subprocess.run(
        [sys.executable, "-m", "dlbridge", "conformance", *arguments],
        capture_output=True,
        text=True,
        cwd=TARGETS,
        timeout=600,
    )


def test_every_rule_has_a_probe() -> None:
    examined = {probe.rule for probe in probes.in_order()}
    assert set(rules.RULES) == examined


def test_hostile_probes_run_last() -> None:
    hostile = [probe.hostile for probe in probes.in_order()]
    assert hostile == sorted(hostile)
    assert any(hostile)


# Good targets ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def ours() -> conformance.Report:
    return conformance.examine(OURS, consumer=OUR_CONSUMER)


def test_our_own_tensor(ours: conformance.Report) -> None:
    by_rule = {result.id: result for result in ours.results}
    bad = [it for it in ours.results if it.outcome in ("fail", "warn", "crash")]
    assert bad == []
    skipped = {it.id: it.got for it in by_rule.values() if it.outcome == "skip"}
    assert {rule: why for rule, why in skipped.items() if rule not in NOT_HERE} == {}
    assert ours.status == 0
    assert list(by_rule) == list(rules.RULES)


def test_as_json(ours: conformance.Report) -> None:
    document = json.loads(json.dumps(ours.as_json()))
    assert list(document) == [
        "schema", "dlbridge", "complete", "target", "consumer", "standard", "versions", "results",
        "counts", "remarks",
    ]  # fmt: skip
    assert (document["schema"], document["complete"]) == (1, True)
    assert document["dlbridge"] == dlbridge.__version__
    assert document["versions"]["python"] == ".".join(map(str, sys.version_info[:3]))
    assert document["versions"]["dlbridge"] == dlbridge.__version__
    texts = ["id", "kind", "severity", "outcome", "expected", "got", "fix"]
    for result in document["results"]:
        assert list(result) == [*texts, "sources", "seconds", "waiver", "causes", "strict"]
        assert all(isinstance(result[name], str) for name in texts)
        for source in result["sources"]:
            assert list(source) == ["document", "since", "place", "sentence", "force"]
        assert result["waiver"] is None
    assert 0 < sum(result["seconds"] for result in document["results"]) < 600
    assert list(document["counts"]) == ["pass", "skip", "note", "warn", "fail", "crash"]
    assert sum(document["counts"].values()) == len(document["results"]) == len(rules.RULES)


def test_a_library_by_its_name() -> None:
    report = conformance.examine("dlbridge", only={"P-01", "P-22"})
    assert [it.outcome for it in report.results] == ["pass", "pass"]
    assert report.consumer == "dlbridge's from_dlpack"


def test_a_consumer_of_another_library() -> None:
    report = conformance.examine(
        "dlbridge", consumer="conformance_namespace:from_dlpack", only={"C-01", "S-11"}
    )
    assert [it.outcome for it in report.results] == ["pass", "note"]  # it takes no keywords
    assert report.consumer == "conformance_namespace:from_dlpack"


def test_a_namespace() -> None:
    report = conformance.examine("conformance_namespace", only={"P-01", "P-10", "P-16"})
    assert [it.outcome for it in report.results] == ["pass"] * 3
    assert report.consumer == "conformance_namespace:from_dlpack"
    assert "int8" in report.results[2].got


def test_a_factory_without_parameters() -> None:
    report = conformance.examine(
        "conformance_targets:prints", only={"P-01", "P-17", "P-19", "P-22", "X-06"}
    )
    assert {it.id: it.outcome for it in report.results} == {
        "P-01": "pass",
        "P-17": "skip",
        "P-19": "skip",
        "P-22": "skip",
        "X-06": "skip",
    }
    assert report.results[3].got == "no array is read-only"
    assert "--consumer MODULE:FUNCTION" in report.results[4].got


def test_without_a_consumer_its_rules_are_skipped() -> None:
    consumers = {rule for rule in rules.RULES if rule[0] == "C"} | {"S-11", "S-14", "S-15"}
    report = conformance.examine(OURS, only=consumers)
    assert {(it.outcome, it.got) for it in report.results} == {("skip", target.NO_CONSUMER)}


# Targets that break rules ------------------------------------------------------------------------


@pytest.mark.parametrize("rule", ["X-02", "X-05"])
def test_the_fix_says_what_to_do_in_ctypes(rule: str) -> None:
    assert "ctypes cannot: write the de" in rules.RULES[rule].fix
    assert rules.RULES[rule].fix.endswith("in C, or waive the rule.")


@pytest.mark.parametrize(
    ("consumer", "got", "fix"),
    [
        ("never_frees", "a leak: of ", "Call the deleter once"),
        ("frees_twice", "a double free: the deleters of ", "Rename the capsule"),
    ],
)
def test_the_fix_of_a_consumer_that_frees_wrongly(consumer: str, got: str, fix: str) -> None:
    name = f"conformance_targets:{consumer}"
    alone = conformance.examine(OURS, consumer=name, only="X-08").results[0]
    assert alone.outcome == "fail" and alone.got.startswith(got) and alone.fix.startswith(fix)
    report = conformance.examine(OURS, consumer=name, only={"X-08", "C-07"})
    by_rule = {each.id: each for each in report.results}
    assert by_rule["C-07"].outcome == "fail"
    assert by_rule["X-08"].outcome == "skip" and by_rule["X-08"].causes == ("C-07",)


def test_a_consumer_beside_a_factory_without_arrays() -> None:
    report = conformance.examine(
        "conformance_targets:garbage", consumer="numpy:from_dlpack", only={"P-01", "C-01"}
    )
    assert [(it.outcome, it.got) for it in report.results if it.id == "P-01"] == [
        ("skip", "int has neither method: it exports nothing by DLPack")
    ]
    assert report.status == 0


def test_a_device_type_that_is_newer_than_the_table() -> None:
    report = conformance.examine("conformance_targets:OnNewDevice", only={"P-01", "P-02", "P-10"})
    assert [it.outcome for it in report.results] == ["pass", "pass", "pass"]
    assert report.results[1].got == "device type 77 is not in dlbridge's table: it may be newer"


def test_a_device_type_that_cannot_exist() -> None:
    only = {"P-02"}
    report = conformance.examine("conformance_targets:OnNoDevice", standard="2021.12", only=only)
    assert [it.outcome for it in report.results] == ["fail"]


def test_a_missing_method() -> None:
    def outcomes(standard: str | None) -> list[str]:
        report = conformance.examine(
            "conformance_targets:NoDevice", standard=standard, only={"P-01", "P-02", "P-05"}
        )
        return [it.outcome for it in report.results]

    assert outcomes("2021.12") == ["fail", "skip", "pass"]
    assert outcomes(None) == ["warn", "skip", "pass"]  # the array API alone has the sentence


VERSIONED = "__dlpack__(max_version=(1, 3))"


def test_a_hang_is_of_the_rule_that_hung() -> None:
    report = conformance.examine(
        "conformance_targets:HangsOnVersion", only={"P-01", "P-05", "P-31"}, seconds=5
    )
    by_rule = {it.id: it for it in report.results}
    assert by_rule["P-01"].outcome == "pass"
    assert by_rule["P-05"].outcome == "crash"
    assert by_rule["P-05"].severity == "F"
    assert by_rule["P-05"].got == f"{VERSIONED}: the process hung: no answer within 5 s"
    assert report.status == 1


def test_devices_and_streams_that_are_ignored() -> None:
    report = conformance.examine("conformance_targets:Careless", only={"P-10", "P-27", "P-29"})
    by_rule = {it.id: it for it in report.results}
    assert by_rule["P-10"].outcome == "pass"
    assert by_rule["P-27"].got.startswith(
        "dl_device=(1, 0) on device (2, 0) returned a capsule on (2, 0)"
    )
    assert "stream=0 on device (2, 0) was accepted" in by_rule["P-29"].got
    assert [by_rule[rule].outcome for rule in ("P-27", "P-29")] == ["note", "note"]


def test_a_crash_is_of_the_rule_that_crashed() -> None:
    report = conformance.examine(
        "conformance_targets:CrashesOnStream", only={"P-03", "P-28", "P-29", "P-32"}
    )
    by_rule = {it.id: it for it in report.results}
    assert [by_rule[rule].outcome for rule in ("P-03", "P-32")] == ["pass", "pass"]
    assert by_rule["P-28"].outcome == "pass"
    assert by_rule["P-29"].outcome == "note"  # the stream is invalid
    assert by_rule["P-29"].got.startswith("__dlpack__(stream=-2): the process crashed: SIGABRT")


def test_an_array_that_ends_with_its_first_capsule() -> None:
    name = "conformance_targets:EndsWithItsCapsule"
    results = {
        each.id: each for each in conformance.examine(name, only={"P-02", "P-03", "P-32"}).results
    }
    outcomes = {rule: each.outcome for rule, each in results.items()}
    assert outcomes == {"P-02": "warn", "P-03": "fail", "P-32": "fail"}
    assert all("KeyError: 'device'" in each.got for each in results.values())


def test_a_crash_that_an_earlier_probe_caused() -> None:
    """It is reported, and blamed on no rule that holds in a new process."""
    report = conformance.examine("conformance_targets:Decays", only={"P-08", "P-28"})
    (result,) = (it for it in report.results if it.id == "P-28")
    assert result.outcome == "pass"
    assert result.got.startswith("after other checks __dlpack__(")
    assert result.got.endswith(": the process crashed: SIGABRT; alone in a new process it did not")


def test_the_worst_outcome_of_a_rule_counts() -> None:
    skip, success = {"outcome": "skip", "got": "why"}, {"outcome": "pass", "got": "note"}
    violation = {
        "outcome": "fail",
        "got": "bad",
        "severity": "W",
        "fix": "mend",
        "expected": "good",
    }
    crash = {"outcome": "crash", "got": "SIGSEGV"}

    def outcome(*outcomes: dict[str, Any]) -> tuple[str, str, str]:
        result = engine._result(rules.RULES["P-04"], list(outcomes), None)
        return result.outcome, result.severity, result.got

    assert outcome() == ("skip", "F", "no probe examines it")
    assert outcome(success, success) == ("pass", "F", "note")
    assert outcome(success, skip) == ("skip", "F", "why")
    assert outcome(skip, violation, success) == ("fail", "F", "bad")
    assert outcome(crash, violation) == ("crash", "F", "SIGSEGV")
    report = engine._result(rules.RULES["P-04"], [violation], None)
    assert (report.expected, report.fix) == ("good", "mend")
    report = engine._result(rules.RULES["P-04"], [crash], None)
    assert (report.expected, report.fix) == (rules.RULES["P-04"].text, rules.RULES["P-04"].fix)


def without_processes() -> Examination:
    """Returns an examination whose outcomes a test sets."""
    examination = object.__new__(engine.Examination)
    examination.standard, examination._times, examination._strict = None, {}, False
    examination._waived = ()
    examination._first = examination._second = Lane(
        "none", consumer=None, device="cpu", seconds=None, shared=[]
    )
    return examination


def test_a_crash_names_the_rule_that_is_probably_the_cause() -> None:
    examination = without_processes()
    names = {rule: [it.name for it in probes.in_order() if it.rule == rule] for rule in rules.RULES}
    crash = {name: {"outcome": "crash", "got": "SIGSEGV"} for name in names["P-13"]}

    def got(of_structs: str) -> tuple[str, str]:
        structs = {name: {"outcome": of_structs, "got": ""} for name in names["P-04"]}
        examination._outcomes = {**crash, **structs}
        result = examination.result("P-13")
        return result.outcome, result.got

    assert got("pass") == ("crash", "SIGSEGV")
    assert got("fail") == ("skip", f"P-04 is broken: {engine.REPAIR_FIRST}; SIGSEGV")


@pytest.mark.parametrize(
    ("cause", "rule"),
    [("C-10", "C-09"), ("P-38", "P-32"), ("P-38", "X-07"), ("X-07", "P-44"), ("X-07", "X-03")],
)
def test_a_violation_that_another_one_explains_is_skipped(cause: str, rule: str) -> None:
    examination = without_processes()
    results = {}
    for of_strides in ("pass", "fail"):
        examination._outcomes = {
            probe.name: {"outcome": of_strides if probe.rule == cause else "fail", "got": "bad"}
            for probe in probes.in_order()
            if probe.rule in (cause, rule)
        }
        results[of_strides] = [examination.result(each) for each in (rule, cause)]
    assert results["pass"][0].causes == () and "is broken" not in results["pass"][0].got
    violation, first = results["fail"]
    assert violation.causes == (cause,) and violation.outcome == "skip"
    assert violation.got == f"{cause} is broken: {engine.REPAIR_FIRST}; bad"
    assert "is broken" not in first.got
    report = conformance.Report("target", None, None, {}, [violation, first])
    assert [each.id for each in report.ordered()] == [cause, rule]
    examination._waived = {cause}
    assert examination.result(rule).outcome in ("fail", "warn")


def test_some_probes_of_a_rule_are_explained() -> None:
    examination = without_processes()

    def causes(probe: str) -> tuple[str, ...]:
        failing = ("ownership.outlives_its_source", probe)
        examination._outcomes = {name: {"outcome": "fail", "got": "bad"} for name in failing}
        return examination.result("P-32").causes

    assert causes("threads.freed_in_every_order") == ("X-07",)
    assert causes("threads.shared_tensors_are_counted") == ()


def test_what_is_explained_itself_is_named_as_no_cause() -> None:
    examination = without_processes()
    examination._outcomes = {
        probe.name: {"outcome": "fail", "got": "bad"} for probe in probes.in_order()
    }
    assert examination.result("P-24").causes == ("P-38",)


@pytest.mark.parametrize(
    ("raw", "rule", "standard", "rated"),
    [
        ("pass", "P-04", None, "pass"),
        ("skip", "P-05", None, "skip"),
        ("fail", "P-04", None, "fail"),  # a must of DLPack's own specification
        ("fail", "P-23", None, "warn"),  # a must of the array API, which the library does not claim
        ("fail", "P-23", "2022.12", "note"),  # which the claimed version does not have
        ("fail", "P-23", "2023.12", "fail"),
        ("fail", "P-05", None, "warn"),
        ("fail", "C-11", None, "note"),
        ("crash", "P-05", None, "crash"),
        ("crash", "C-11", None, "note"),  # its input is invalid
        ("crash", "C-15", None, "warn"),
    ],
)
def test_rating(raw: str, rule: str, standard: str | None, rated: str) -> None:
    assert engine.rate(raw, rules.RULES[rule], standard) == rated


class SlowClock(threading.local):
    """A clock by which any two successive calls of a thread are 3 seconds apart."""

    now = 0.0

    def monotonic(self) -> float:
        self.now += 3
        return self.now


def test_a_hostile_probe_has_time_to_open_the_target_again(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: dict[bool, float] = {}
    call = children.Worker.call

    def note_limit(self: children.Worker, function: str, **keywords: Any) -> children.Answer:
        if "probe" in keywords:
            limits[registry.PROBES[keywords["probe"]].hostile] = keywords["within"]
        return call(self, function, **keywords)

    monkeypatch.setattr(children.Worker, "call", note_limit)
    monkeypatch.setattr(lane, "time", SlowClock())
    conformance.examine("conformance_targets:tensor", only={"P-01", "X-04"}, seconds=50)
    usual = 50 + lane.CALL  # a call that begins at the end of the check has its own time
    assert limits == {False: usual, True: usual + 3 * lane.OPENED_AGAIN}


# Nothing to examine ------------------------------------------------------------------------------

NOTHING = {
    "conformance_targets:raises": "the factory raised ValueError: no array today",
    "conformance_targets:garbage": "the factory returned int, which exports nothing by DLPack: it "
    "has neither __dlpack__ nor __dlpack_device__",
    "conformance_targets:crashes": "crashed: SIGABRT",
    "conformance_targets:exits": "the factory raised SystemExit: 3",
    "conformance_targets:nothing": "has no attribute 'nothing'",
    "conformance_targets:not_a_function": "is no function but int",
    "no_such_module:f": "ModuleNotFoundError: No module named 'no_such_module'",
    "conformance_targets.py:tensor": "expected the name of a module, not of a file: write "
    "conformance_targets; got 'conformance_targets.py'",
    "./conformance_targets:tensor": "not of a file: write conformance_targets; got",
    "/some/place/mylib.py:make": "write mylib, with /some/place on PYTHONPATH; got",
    "jnp:ones": "No module named 'jnp'; write jax.numpy",
    "no_such_module": "ModuleNotFoundError: No module named 'no_such_module'",
    "json": "json has neither asarray nor from_dlpack; specify a factory, as in json:make",
    ":make": "expected MODULE:NAME",
    "json:": "expected MODULE:NAME",
}


def test_a_module_that_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "module_that_raises.py"
    path.write_text("def g():\n    return undefined\n\n\nx = g()\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    words = f"NameError: name 'undefined' is not defined ({path}, line 2)"
    with pytest.raises(CannotExamine, match=re.escape(f"module_that_raises:make: {words}")):
        conformance.examine("module_that_raises:make")
    with pytest.raises(CannotExamine, match=re.escape(f"module_that_raises:take: {words}")):
        conformance.examine(OURS, consumer="module_that_raises:take")


@pytest.mark.parametrize(("name", "words"), NOTHING.items(), ids=NOTHING)
def test_nothing_to_examine(name: str, words: str) -> None:
    with pytest.raises(CannotExamine, match=re.escape(words)):
        conformance.examine(name)


def test_a_factory_that_hangs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dlbridge.tools.children.SECONDS", 2.0)
    with pytest.raises(CannotExamine, match="hung: no answer within 2 s"):
        conformance.examine("conformance_targets:hangs")
    with pytest.raises(CannotExamine, match="hung: no answer within 1 s"):
        conformance.examine("conformance_targets:hangs", seconds=1)


def test_a_consumer_that_is_none() -> None:
    with pytest.raises(CannotExamine, match="has no attribute 'nothing'"):
        conformance.examine(OURS, consumer="conformance_targets:nothing")


def test_a_rule_that_is_none() -> None:
    with pytest.raises(CannotExamine, match="there is no rule P-99"):
        conformance.examine(OURS, only={"P-01", "P-99"})
    with pytest.raises(CannotExamine, match="no rule Q-1; `dlbridge conformance --rules` lists"):
        conformance.examine(OURS, only="q-1")


# The command line --------------------------------------------------------------------------------


def test_status_0_and_the_plain_report() -> None:
    process = command(OURS, "--only", "P-01", "--only", "P-21", "--only", "C-01", "-v")
    assert (process.returncode, process.stderr) == (0, "")
    assert "\x1b" not in process.stdout
    lines = process.stdout.splitlines()
    assert lines[0].startswith("conformance_targets:tensor (python 3.")
    assert lines[-1] == "2 of 3 pass, 1 skip"
    assert any(line.startswith("pass   P-21   the first element is aligned") for line in lines)
    assert any(line.startswith("skip          C-01: no consumer is known") for line in lines)


def test_status_1_and_what_failed() -> None:
    process = command(
        "conformance_targets:NoDevice", "--standard=2023.12", "--only", "P-01", "--only", "P-03"
    )
    assert process.returncode == 1
    lines = process.stdout.splitlines()
    assert lines[1].startswith("standard: array API 2023.12, dlpack.h")
    assert lines[3].startswith("FAIL   P-01   An object has both __dlpack__ and")
    assert lines[4] == "       got    NoDevice has no method __dlpack_device__"
    assert lines[5].startswith("       fix    Define both on the class")
    assert lines[6].startswith('       source array API 2021.12, array object: "A conforming')
    assert process.stdout.splitlines()[-1] == "1 of 2 pass, 1 fail"


def test_the_head_of_a_library_that_claims_no_standard() -> None:
    process = command("dlbridge", "--only", "P-01")
    versions, *standard = process.stdout.splitlines()[:3]
    assert versions.startswith("dlbridge (python 3.")
    assert f", dlbridge {dlbridge.__version__})" in versions
    assert " ".join(standard).strip() == (
        "standard: dlpack.h and DLPack's Python specification (the library claims no version of "
        "the array API; state one with --standard 2024.12)"
    )


def test_arrays_that_dlbridge_does_not_create() -> None:
    with pytest.raises(CannotExamine, match="dlbridge creates no NumPy arrays with device='cuda'"):
        conformance.examine("numpy", device="cuda")


def test_arrays_that_state_their_access_need_no_comparison() -> None:
    (result,) = conformance.examine("numpy", only="P-22").results
    assert result.got.startswith("not examined further: the arrays state whether they are read-")


def test_long_notes_are_cut_between_words() -> None:
    assert terminal._short("a" * 199 + " bcd") == "a" * 199 + " ..."
    assert terminal._short("a" * 201) == "a" * 200 + " ..."
    assert terminal._short("a" * 200) == "a" * 200


def test_status_2_and_why() -> None:
    process = command("conformance_targets:raises")
    assert (process.returncode, process.stdout) == (2, "")
    assert process.stderr == (
        "dlbridge conformance: conformance_targets:raises: "
        "the factory raised ValueError: no array today\n"
    )
    assert command().returncode == 2


def test_status_2_where_every_rule_is_skipped() -> None:
    process = command(OURS, "--only=C-01", "--only=C-02")
    assert process.returncode == 2
    assert process.stdout.splitlines()[-1] == "0 of 2 pass, 2 skip"
    assert process.stderr == (
        f"dlbridge conformance: every rule was skipped: {target.NO_CONSUMER}\n"
    )


def test_a_producer_without_capsules_fails_without_a_claim() -> None:
    rules = {"P-03", "P-04", "P-06"}
    report = conformance.examine("conformance_targets:ReturnsAnInt", only=rules)
    outcomes = {result.id: (result.outcome, result.got) for result in report.results}
    assert (report.standard, report.status) == (None, 1)
    assert outcomes["P-03"][0] == "fail"
    assert outcomes["P-04"] == outcomes["P-06"] == ("skip", "no request returns a capsule")


def test_a_producer_that_panics_fails() -> None:
    report = conformance.examine("conformance_targets:Panics", only={"P-03", "P-06"})
    outcomes = {result.id: (result.outcome, result.got) for result in report.results}
    assert outcomes["P-03"] == ("fail", "__dlpack__() raised Panic: called unwrap on None")
    assert (outcomes["P-06"][0], report.status) == ("skip", 1)


def test_a_panic_of_a_consumer_is_its_refusal() -> None:
    consumer = "conformance_targets:take_and_panic"
    report = conformance.examine("numpy", consumer=consumer, only={"C-01", "S-12"})
    outcomes = {result.id: (result.outcome, result.got) for result in report.results}
    assert outcomes["C-01"][0] == "skip"  # it takes no tensor at all
    assert outcomes["C-01"][1].endswith("refused: Panic: called unwrap on LegacyProducer")
    text = "an object without __dlpack__ raises Panic: called unwrap on object"
    assert outcomes["S-12"] == ("warn", text)


def test_a_consumer_that_is_missing_is_named() -> None:
    with pytest.raises(CannotExamine, match="the consumer nope:x: ModuleNotFoundError"):
        conformance.examine("numpy", consumer="nope:x")


def test_a_rule_may_be_given_as_it_is() -> None:
    for rule in ("P-01", "p-01"):
        (result,) = conformance.examine("numpy", only=rule).results
        assert result.id == "P-01"
    with pytest.raises(conformance.CannotExamine, match="there is no rule P-00"):
        conformance.examine("numpy", only="P-00")


def test_json_is_one_object_whatever_the_factory_prints() -> None:
    process = command("conformance_targets:prints", "--json", "--only", "P-01")
    assert process.returncode == 0
    assert json.loads(process.stdout)["counts"]["pass"] == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


LOST = {
    "outcome": "fail",
    "severity": "N",
    "expected": "Cycles are freed.",
    "got": "lost",
    "fix": "Find them.",
}


def _shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, *, verbose: bool = False) -> str:
    example = conformance.Report(
        target="lib:make",
        consumer=None,
        standard=None,
        versions={"python": "3", "lib": None},
        results=[
            engine._result(rules.RULES["P-21"], [{"outcome": "pass", "got": "64 bytes"}], None),
            engine._result(rules.RULES["P-05"], [{"outcome": "fail", "got": "legacy"}], None),
            engine._result(
                rules.RULES["P-04"], [{"outcome": "crash", "got": "SIGSEGV " * 20}], None
            ),
            engine._result(rules.RULES["P-27"], [], None),
            engine._result(rules.RULES["X-12"], [LOST], None),
            engine._result(rules.RULES["S-01"], [], None),
        ],
    )
    monkeypatch.setattr(sys, "stdout", stream)
    terminal.show(example, verbose=verbose)
    return stream.getvalue()


def test_the_worst_comes_first(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _shown(monkeypatch, io.StringIO())
    first = [line.split()[:2] for line in text.splitlines() if re.match("[A-Z]+ +[A-Z]-", line)]
    assert first == [["CRASH", "P-04"], ["WARN", "P-05"]]
    assert "P-27, S-01: no probe examines it" in text
    assert "\nnote   X-12   lost; fix: Find them.\n" in text
    assert text.endswith("\n1 of 6 pass, 1 crash, 1 warn, 1 note, 2 skip\n")
    assert max(map(len, text.splitlines())) <= terminal.WIDEST


def test_verbose_shows_notes_in_full(monkeypatch: pytest.MonkeyPatch) -> None:
    text = _shown(monkeypatch, io.StringIO(), verbose=True)
    assert (
        "\nNOTE   X-12   Cycles are freed.\n       got    lost\n       fix    Find them.\n" in text
    )


COLOURED, PLAIN = "\x1b[1;31mCRASH  P-04", "\nCRASH  P-04"


@pytest.mark.parametrize(
    ("stream", "variables", "expected"),
    [
        (Terminal, {}, COLOURED),
        (io.StringIO, {}, PLAIN),
        (io.StringIO, {"FORCE_COLOR": "0"}, COLOURED),  # any text that is not empty
        (io.StringIO, {"FORCE_COLOR": "1", "TERM": "dumb"}, COLOURED),
        (io.StringIO, {"FORCE_COLOR": ""}, PLAIN),
        (Terminal, {"NO_COLOR": "0"}, PLAIN),
        (Terminal, {"NO_COLOR": ""}, COLOURED),
        (Terminal, {"NO_COLOR": "1", "FORCE_COLOR": "1"}, PLAIN),
        (Terminal, {"TERM": "dumb"}, PLAIN),
    ],
)
def test_colours(
    monkeypatch: pytest.MonkeyPatch,
    stream: type[io.StringIO],
    variables: dict[str, str],
    expected: str,
) -> None:
    for name, text in {"TERM": "xterm", "NO_COLOR": "", "FORCE_COLOR": "", **variables}.items():
        monkeypatch.setenv(name, text)
    text = _shown(monkeypatch, stream())
    assert expected in text
    assert ("\x1b" in text) == (expected == COLOURED)


def test_progress_is_wiped_out(monkeypatch: pytest.MonkeyPatch) -> None:
    out = io.StringIO()
    monkeypatch.setattr(sys, "stderr", out)
    terminal.show_progress(1, 2, "P-04")
    terminal.show_progress(2, 2, "")
    assert out.getvalue().startswith("\r1 of 2: P-04 ")
    assert out.getvalue().endswith(" \r")


# The plugin of pytest ----------------------------------------------------------------------------


Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs pytest in a process of its own, with our targets on its path."""
    paths = [str(TARGETS), *(path for path in sys.path if path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)
    return functools.partial(
        pytester.runpytest_subprocess,
        "-p",
        "dlbridge.tools.pytest_plugin",
        "-p",
        "no:cacheprovider",
    )


def test_plugin_has_a_test_for_every_rule(run_pytest: Run) -> None:
    run = run_pytest("--dlpack", OURS, "--collect-only", "-q")
    for rule in rules.RULES:
        run.stdout.fnmatch_lines([f"{OURS}::{rule}"])
    assert run.ret == 0


def test_plugin_outcomes(run_pytest: Run) -> None:
    run = run_pytest(
        "--dlpack", "conformance_targets:Copies", "-k", "P-01 or P-22 or P-39", "-rs",
    )  # fmt: skip
    run.assert_outcomes(passed=1, failed=1, skipped=1, deselected=len(rules.RULES) - 3)
    run.stdout.fnmatch_lines(
        [
            "P-39: *",
            "  fix: Set flag 2 in the versioned struct *",
            "SKIPPED * no array states whether it is read-only*",
        ]
    )
    assert run.ret == 1


def test_plugin_warns(run_pytest: Run) -> None:
    arguments = ("--dlpack", "conformance_targets:OldStyle", "-k", "P-05")
    run = run_pytest(*arguments)
    run.assert_outcomes(passed=1, warnings=1, deselected=len(rules.RULES) - 1)
    run.stdout.fnmatch_lines(["*ConformanceWarning: P-05: __dlpack__ has no keyword max_version"])
    strict = run_pytest(*arguments, "-W", "error")
    strict.assert_outcomes(failed=1, deselected=len(rules.RULES) - 1)


def test_plugin_judges_by_a_standard(run_pytest: Run) -> None:
    arguments = ("--dlpack", "conformance_targets:NoDevice", "-k", "P-01")
    run_pytest(*arguments).assert_outcomes(passed=1, warnings=1, deselected=len(rules.RULES) - 1)
    strict = run_pytest(*arguments, "--dlpack-standard=2023.12")
    strict.assert_outcomes(failed=1, deselected=len(rules.RULES) - 1)
    unknown = run_pytest(*arguments, "--dlpack-standard=2020.12")
    unknown.stderr.fnmatch_lines(["ERROR: --dlpack-standard: expected one of 2021.12, *"])


def test_plugin_by_the_ini_file(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makeini(f"[pytest]\ndlpack = {OURS}\ndlpack_consumer = {OUR_CONSUMER}\n")
    pytester.makepyfile("def test_other(): pass")
    run = run_pytest("-k", "other or X-06")
    run.assert_outcomes(passed=2, deselected=len(rules.RULES) - 1)


def test_plugin_with_nothing_to_examine(run_pytest: Run) -> None:
    run = run_pytest("--dlpack", "conformance_targets:raises")
    assert run.ret == pytest.ExitCode.USAGE_ERROR
    run.stderr.fnmatch_lines(
        ["ERROR: --dlpack: conformance_targets:raises: the factory raised ValueError: *"]
    )


def test_plugin_costs_nothing_unused(pytester: pytest.Pytester, run_pytest: Run) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_imported():
            assert "dlbridge.tools.pytest_plugin" in sys.modules
            assert "dlbridge.tools.conformance" not in sys.modules
            assert "dlbridge.tools.children" not in sys.modules
        """
    )
    run_pytest().assert_outcomes(passed=1)


# Helpers of probes -------------------------------------------------------------------------------


def test_content_follows_strides() -> None:
    x = conformance_targets.tensor(shape=(2, 3), dtype="uint8")
    contents = exports.export(x).contents
    assert exports.content(contents) == bytes([0, 1, 2, 3, 4, 5])
    assert exports.reach(contents) == (contents.data, contents.data + 6)
    assert exports.compact_strides((2, 0, 4)) == (4, 4, 1)
