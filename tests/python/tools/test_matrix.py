# SPDX-License-Identifier: BSD-3-Clause
"""matrix: every outcome is classified, and rendered in every form."""

from __future__ import annotations

import html.parser
import json
import os
import platform
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import dlbridge
import lossy_library
from dlbridge.tools import children, elements, libraries, progress
from dlbridge.tools.libraries import CASES
from dlbridge.tools.matrix import blame, causes, exchange, page, summary, survey, terminal, values
from dlbridge.tools.matrix.exchange import ARRIVED, FAILED
from dlbridge.tools.matrix.steps import last_step, tidy
from rows import JAX_IS_VERSIONED, is_from

HERE = Path(__file__).parent
Report = dict[str, Any]


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which add() creates libraries, for this process and its children."""
    folder = tmp_path / "libraries"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    paths = [str(folder), str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    return folder


def add(folder: Path, name: str, first: str = "") -> str:
    """Creates a library with that behaviour; `first` runs when it is imported."""
    text = f"{first}\nimport matrix_fakes\nROW = matrix_fakes.row(__name__)\n"
    (folder / f"{name}.py").write_text(text)
    return f"{name}:ROW"


def exchange_all(*libraries: str, cases: tuple[str, ...] = ("vector",), **more: Any) -> Report:
    here = survey.examine_environment(survey.HERE, sys.executable, libraries)
    return survey.run(survey.Plan([here], libraries, cases, **more))


def one(report: Report, producer: str, consumer: str, case: str = "vector") -> dict[str, Any]:
    key = (producer, consumer, case)
    (exchange,) = (
        each
        for each in report["exchanges"]
        if (each["producer"], each["consumer"], each["case"]) == key
    )
    return dict(exchange)


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "dlbridge", "matrix", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


# Outcomes of an exchange -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("habit", "outcome", "text"),
    [
        ("good", "zero-copy", None),
        ("copying", "copied", None),
        ("converting", "converted", "float32 becomes float64"),
        ("refusing", "refused", "BufferError: none of that"),
        ("unreadable", "refused", "arrives, but reading it raises MemoryError: too many"),
        ("lying", "wrong", "arrives as "),
        ("crashing", "crashed", "SIGABRT while crashing imported it: Check failed: it is 0x..."),
        ("leaving", "crashed", "exit status 3 while leaving imported it"),
        ("exiting", "crashed", "SystemExit: 4"),
    ],
)
def test_what_a_consumer_does(fakes: Path, habit: str, outcome: str, text: str | None) -> None:
    exchange = one(exchange_all("numpy", add(fakes, habit)), "numpy", habit)
    assert exchange["outcome"] == outcome
    assert exchange.get("said", "").startswith(text) if text else "said" not in exchange
    failed = outcome in FAILED
    assert exchange.get("whose") == ("consumer" if failed else None)
    assert "because" not in exchange


@pytest.mark.parametrize(
    ("habit", "outcome", "text"),
    [
        ("good", "zero-copy", None),
        ("silent", "refused", "BufferError: it exports nothing"),
        ("garbage", "refused", "AttributeError: "),
        ("failing", "impossible", "RuntimeError: no memory"),
        ("dying", "crashed", "SIGABRT while dying created the array"),
    ],
)
def test_what_a_producer_does(fakes: Path, habit: str, outcome: str, text: str | None) -> None:
    exchange = one(exchange_all("numpy", add(fakes, habit)), habit, "numpy")
    assert exchange["outcome"] == outcome
    assert exchange.get("said", "").startswith(text) if text else "said" not in exchange
    assert exchange.get("whose") == ("producer" if outcome in FAILED else None)


@pytest.mark.parametrize("producer", ["numpy", "good"])
def test_a_consumer_that_does_not_keep_the_source_alive(fakes: Path, producer: str) -> None:
    exchange = one(
        exchange_all("numpy", add(fakes, "good"), add(fakes, "forgetful")), producer, "forgetful"
    )
    assert exchange["outcome"] == "wrong"
    assert exchange["said"].startswith("after its source is freed, it is ")


def test_one_that_hangs_costs_its_time_limit(fakes: Path) -> None:
    report = exchange_all("numpy", add(fakes, "hanging"), cases=("vector", "rank 0"), seconds=2)
    assert one(report, "numpy", "hanging")["outcome"] == "hung"
    assert one(report, "numpy", "hanging")["said"] == (
        "no answer within 2 s while hanging imported it"
    )
    assert one(report, "hanging", "numpy", "rank 0")["outcome"] == "zero-copy"


@pytest.mark.parametrize("habit", ["slow_once", "killed_once"])
def test_what_the_machine_does_once_is_repeated(fakes: Path, tmp_path: Path, habit: str) -> None:
    """A busy machine, and one that kills a process, is no fault of a library."""
    marker = tmp_path / "was_here"
    setting = f"import os; os.environ['MATRIX_FAKES_ONCE'] = {str(marker)!r}"
    report = exchange_all("numpy", add(fakes, habit, setting), seconds=5)
    assert marker.exists()
    assert one(report, "numpy", habit)["outcome"] == "zero-copy"


def test_after_a_crash_the_next_array_is_exchanged(fakes: Path) -> None:
    cases = ("vector", "rank 0", "transposed")
    report = exchange_all("numpy", add(fakes, "crashing"), cases=cases)
    assert [one(report, "numpy", "crashing", case)["outcome"] for case in cases] == ["crashed"] * 3
    assert [one(report, "crashing", "numpy", case)["outcome"] for case in cases] == [
        "zero-copy"
    ] * 3


def test_importing_again_after_a_crash_takes_its_time(fakes: Path) -> None:
    cases = ("vector", "rank 0")
    slow = add(fakes, "crashing", "import time; time.sleep(4)")
    report = exchange_all("numpy", slow, cases=cases, seconds=3)
    assert [one(report, "numpy", "crashing", case)["outcome"] for case in cases] == ["crashed"] * 2


def test_read_only_that_can_be_written_to(fakes: Path) -> None:
    good, careless = add(fakes, "good"), add(fakes, "careless")
    report = exchange_all(good, careless, cases=("read-only",))
    arrives = one(report, "good", "careless", "read-only")
    text = "the read-only mark is lost: writing to its array changes the source"
    assert (arrives["outcome"], arrives["whose"], arrives["said"]) == ("writable", "consumer", text)
    assert one(report, "good", "good", "read-only")["outcome"] == "zero-copy"


def test_a_lost_flag_is_no_success(fakes: Path) -> None:
    good, careless = add(fakes, "good"), add(fakes, "careless")
    report = exchange_all(good, careless, cases=("read-only",), via=True)
    (tried,) = [e for e in summary.tried_again(report) if e["producer"] == "good"]
    assert tried["via"] == {"outcome": "copied", "how": "from_dlpack(x, copy=True)"}
    assert summary.rescued(report) == summary.tried_again(report)
    assert summary.worst([tried]) == ("writable", 1)


def test_a_library_that_cannot_be_imported(fakes: Path) -> None:
    name = add(fakes, "broken", "raise OSError('a library is missing')")
    (fakes / "broken_row.py").write_text("import matrix_fakes\nROW = matrix_fakes.row('broken')\n")
    report = exchange_all("numpy", "broken_row:ROW")
    message = "broken cannot be used: OSError: a library is missing"
    assert name == "broken:ROW"
    for pair in (("broken", "broken"), ("numpy", "broken"), ("broken", "numpy")):
        assert one(report, *pair)["outcome"] == "impossible"
        assert one(report, *pair)["said"] == message
    assert one(report, "numpy", "numpy")["outcome"] == "zero-copy"


def test_the_terminal_states_why_a_library_is_unusable(fakes: Path) -> None:
    add(fakes, "broken", "raise OSError('a \\x1b[2Jlibrary is missing')")
    (fakes / "broken_row.py").write_text("import matrix_fakes\nROW = matrix_fakes.row('broken')\n")
    shown = run("--library", "broken_row:ROW", "--only", "broken", "--case", "vector")
    assert "broken cannot be used: OSError: a \\x1b[2Jlibrary is missing" in shown.stdout
    assert "\x1b" not in shown.stdout


def test_an_address_that_raises(fakes: Path) -> None:
    """The values alone tell no copy from the same memory."""
    name = add(fakes, "good")
    (fakes / "vague.py").write_text(
        "import dataclasses, matrix_fakes\n"
        "def address(module, x): raise AttributeError('no address')\n"
        "good = matrix_fakes.row('good')\n"
        "ROW = dataclasses.replace(good, module='vague', title='vague', address=address)\n"
    )
    report = exchange_all(name, "vague:ROW")
    text = "the address of vague raises AttributeError: no address"
    for pair in (("vague", "good"), ("good", "vague"), ("vague", "vague")):
        assert one(report, *pair)["said"] == text
    assert "said" not in one(report, "good", "good")
    assert summary.remarks_on_libraries(report) == [text]


def test_a_library_without_an_address(fakes: Path) -> None:
    name = add(fakes, "good")
    (fakes / "vague.py").write_text(
        "import dataclasses, matrix_fakes\n"
        "good = matrix_fakes.row('good')\n"
        "ROW = dataclasses.replace(good, module='vague', title='vague', address=None)\n"
    )
    report = exchange_all(name, "vague:ROW")
    text = "vague tells no address: the same memory counts as a copy"
    for pair in (("vague", "good"), ("good", "vague"), ("vague", "vague")):
        assert (one(report, *pair)["outcome"], one(report, *pair)["said"]) == ("copied", text)
    assert summary.remarks_on_libraries(report) == [text]
    assert text in run("--library", "vague:ROW", "--only", "vague", "--case", "vector").stdout


def test_the_version_of_a_library_without_one(fakes: Path) -> None:
    name = add(fakes, "good")
    python = f"Python {platform.python_version()}"
    assert exchange.load(["array", name]) == {"array": python, name: "unknown"}


def test_a_library_that_prints(fakes: Path) -> None:
    noisy = add(fakes, "noisy", "import os; print('hello'); os.write(1, b'hi\\n')")
    assert one(exchange_all("numpy", noisy), "numpy", "noisy")["outcome"] == "zero-copy"


def test_own_array_that_is_another(fakes: Path) -> None:
    """A library that creates float32 for every request has no float64 exchange."""
    came = one(exchange_all(add(fakes, "good"), cases=("float64",)), "good", "good", "float64")
    assert came["outcome"] == "impossible"
    assert came["said"] == "creates float32 where float64 is requested"


# Losses ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", lossy_library.LOSSES)
def test_a_loss_is_found_in_each_array_in_which_it_shows(name: str) -> None:
    _, expected = lossy_library.LOSSES[name]
    came = {case: exchange.exchange("numpy", f"lossy_library:{name}", case) for case in CASES}
    lost = {case: each["outcome"] for case, each in came.items() if each["outcome"] in FAILED}
    assert lost == expected
    assert all(came[case]["whose"] == "consumer" for case in expected)


@pytest.mark.parametrize(
    ("name", "case", "text"),
    [
        ("float64_single", "float64", "arrives as 1.0 at [1], where 1.0000000000009095 was sent"),
        ("sign_of_zero", "vector", "arrives as 0.0 at [0], where -0.0 was sent"),
        ("extents_of_1", "extents of 1", "arrives as [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]"),
        ("single", "float64", "float64 becomes float32"),
        ("mark", "read-only", "the read-only mark is lost: it exports its array as writable"),
    ],
)
def test_a_loss_in_words(name: str, case: str, text: str) -> None:
    assert exchange.exchange("numpy", f"lossy_library:{name}", case)["said"] == text


def test_a_producer_that_loses_the_mark_is_at_fault(fakes: Path) -> None:
    report = exchange_all("numpy", add(fakes, "unmarked"), cases=("read-only",))
    came = one(report, "unmarked", "numpy", "read-only")
    assert (came["outcome"], came["whose"]) == ("writable", "producer")
    assert came["because"] == "its capsule is not marked as read-only"
    text = "the read-only mark is lost: writing to its array changes the source"
    assert came["said"] == text
    assert [name for name, _ in summary.faults_of_judged(report)] == ["unmarked"] * 2


def test_arrays_of_a_row_without_read_only_are_marked_by_their_attribute(fakes: Path) -> None:
    report = exchange_all("numpy", add(fakes, "attribute"), cases=("read-only",))
    came = one(report, "attribute", "numpy", "read-only")
    assert (came["outcome"], came["whose"]) == ("writable", "producer")
    assert came["because"] == "its capsule is not marked as read-only"


def test_what_shows_no_mark_is_not_called_right(
    fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a row's read_only there is no such array, although the library may have them."""
    good, silent = add(fakes, "good"), add(fakes, "unmarkable")
    report = exchange_all(good, silent, cases=("read-only",))
    assert one(report, "unmarkable", "good", "read-only") == {
        "producer": "unmarkable",
        "consumer": "good",
        "environment": "here",
        "case": "read-only",
        "outcome": "unexamined",
        "said": "unmarkable: read-only arrays are not examined, as its row has no function "
        "read_only, and its arrays no attribute for it",
    }
    came = one(report, "good", "unmarkable", "read-only")
    text = (
        "unmarkable: nothing shows whether its arrays are read-only: no attribute, assignment or "
        "flag"
    )
    assert (came["outcome"], came["said"]) == ("unexamined", text)
    terminal.show(report)
    shown = capsys.readouterr().out
    assert text in shown and "?1" in shown


# The side that is at fault ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("producer", "consumer", "outcome", "because"),
    [
        ("deviceless", "indexing", "refused", "its __dlpack_device__() returns (1, None)"),
        ("misdescribed", "good", "wrong", "its capsule describes other values"),
        ("dangling", "good", "wrong", "its capsule does not keep the memory"),
        ("garbage", "good", "refused", "its arrays have no __dlpack__"),
    ],
)
def test_a_fault_of_the_producer(
    fakes: Path, producer: str, consumer: str, outcome: str, because: str
) -> None:
    exchange = one(exchange_all(add(fakes, producer), add(fakes, consumer)), producer, consumer)
    assert (exchange["outcome"], exchange["whose"]) == (outcome, "producer")
    assert exchange["because"] == because
    assert summary.in_words(exchange).endswith(f"({because})")


@pytest.mark.parametrize("consumer", ["crashing", "refusing"])
def test_a_fault_of_the_consumer_that_the_producers_device_does_not_explain(
    fakes: Path, consumer: str
) -> None:
    report = exchange_all(add(fakes, "deviceless"), add(fakes, consumer))
    assert one(report, "deviceless", consumer)["whose"] == "consumer"


def test_an_older_producer_is_not_at_fault(fakes: Path) -> None:
    report = exchange_all(add(fakes, "older"), add(fakes, "versioned"))
    exchange = one(report, "older", "versioned")
    assert (exchange["outcome"], exchange["whose"]) == ("refused", "consumer")
    assert exchange["because"] == blame.OLDER_PRODUCER


def test_a_destructor_that_loses_the_exception_is_the_producers(fakes: Path) -> None:
    """NumPy's own keeps it; a destructor in Python, as those of the fakes, does not."""
    function = "dlbridge.tools.matrix.blame:loses_exceptions"
    numpy = children.call(function, producer="numpy", case="vector")
    assert (numpy.outcome, numpy.value) == ("returned", False)
    good = children.call(function, producer=add(fakes, "good"), case="vector")
    assert good.outcome == "crashed" or good.value is True

    def ask(function: Any) -> children.Answer:
        return good if function is blame.loses_exceptions else children.Answer("raised")

    refused = {"outcome": "refused", "whose": "consumer"}
    system_error = {**refused, "said": "SystemError: error return without exception set"}
    assigned = blame.assign(system_error, ask, dict)
    assert (assigned["whose"], assigned["because"]) == ("producer", blame.LOST)
    other = {**refused, "said": "RuntimeError: Unsupported dtype"}
    assert blame.assign(other, ask, dict) == other


# What the consumer sees and reads ---------------------------------------------------------------


def test_a_consumer_of_several_protocols_sees_only_dlpack(fakes: Path) -> None:
    assert one(exchange_all("numpy", add(fakes, "nosy")), "numpy", "nosy")["outcome"] == "zero-copy"


def test_no_other_library_takes_an_array_without_dlpack() -> None:
    """So what they receive was exchanged by DLPack."""
    for name, row in libraries.LIBRARIES.items():
        reads_dlpack_only = row.take and row.has_dlpack and not row.reads_other_protocols
        if reads_dlpack_only and not row.takes_capsules and row.importable:
            program = (
                "from dlbridge.tools.libraries import LIBRARIES\n"
                f"row = LIBRARIES[{name!r}]; module = row.load()\n"
                "try: row.take(module, memoryview(bytearray(8)))\n"
                "except Exception: print('refused')"
            )
            process = subprocess.run(
                [sys.executable, "-c", program], capture_output=True, text=True
            )
            assert process.stdout.strip().endswith("refused"), name


@pytest.mark.parametrize("producer", ["numpy", "row_major"])
def test_bytes_are_compared_in_the_order_of_memory(fakes: Path, producer: str) -> None:
    """A library may export a transposed array as column-major, or copy it to row-major."""
    names = ["numpy", add(fakes, "row_major"), add(fakes, "bytes"), add(fakes, "good")]
    report = exchange_all(*names, cases=("transposed", "row-major"))
    for case in ("transposed", "row-major"):
        assert one(report, producer, "bytes", case)["outcome"] == "zero-copy"


def test_bytes_are_no_numbers(fakes: Path) -> None:
    """Only a library that reads bytes is compared with bytes."""
    assert not elements.same_nested([0, 0, 128, 63], [1.0])
    assert values.in_memory_order([[0, 1], [2, 3]], (1, 2)) == [0, 2, 1, 3]


def test_what_is_exchanged_by_way_of_another_library_is_not_counted(
    fakes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = exchange_all("numpy", add(fakes, "alias"), add(fakes, "refusing"))
    assert report["by_way_of"] == {"alias": "numpy"}
    own = {(each["producer"], each["consumer"]) for each in summary.own(report)}
    assert own == {(a, b) for a in ("numpy", "refusing") for b in ("numpy", "refusing")}
    terminal.show(report)
    output = capsys.readouterr().out
    assert "4 exchanges in 4 pairs" in output
    assert "alias: by way of numpy's DLPack; its exchanges are not counted." in output
    assert "alias: by way of numpy" in page.render(report)


# Causes -----------------------------------------------------------------------------------------


def failure(producer: str, consumer: str, case: str, outcome: str, said: str, **more: Any) -> Any:
    exchange = {"producer": producer, "consumer": consumer, "case": case, "environment": "here"}
    return {**exchange, "outcome": outcome, "said": said, "whose": "consumer", **more}


def causes_of(*exchanges: Any) -> list[causes.Cause]:
    installed = {"torch": "2.13.0+cpu", "paddle": "3.3.1", "warp": "1.19.0", "numpy": "2.4.6"}
    report = {"environments": [{"name": "here", "libraries": installed}]}
    return causes.of(report, exchanges)


def test_one_fault_is_one_row() -> None:
    text = "SIGABRT while PyTorch imported it: Storage size calculation overflowed with sizes=[{}]"
    crashes = [
        failure(producer, "torch", "backwards", "crashed", text.format(size))
        for producer, size in (("numpy", 6), ("mlx", 6), ("dlbridge", 7))
    ]
    (cause,) = causes_of(*crashes)
    assert (cause.library, cause.side, cause.outcome) == ("torch", "consumer", "crashed")
    assert (cause.defect, cause.is_fault) == ("torch-negative-strides", True)
    assert len(cause.exchanges) == 3 and cause.others == ["numpy", "mlx", "dlbridge"]
    assert cause.text.startswith("A negative stride crashes the process")


def test_the_wrong_values_of_one_consumer_are_one_fault() -> None:
    wrong = [
        failure("mlx", consumer, case, "wrong", f"arrives as {case}", unusual=["byte_offset"])
        for consumer in ("paddle", "warp")
        for case in ("offset", "unaligned")
    ]
    found = causes_of(*wrong)
    assert [(cause.library, cause.defect) for cause in found] == [
        ("paddle", "paddle-byte-offset"),
        ("warp", "warp-byte-offset"),
    ]
    assert [cause.cases for cause in found] == [["offset", "unaligned"]] * 2


def test_a_fault_of_a_producer_is_one_row_for_all_consumers() -> None:
    because = "its __dlpack_device__() returns (1, None)"
    blamed = {"whose": "producer", "because": because}
    found = causes_of(
        failure("paddle", "jax", "vector", "refused", "TypeError: NoneType", **blamed),
        failure("paddle", "mpi4py", "vector", "refused", "TypeError: an integer", **blamed),
    )
    assert [(each.library, each.side, each.defect) for each in found] == [
        ("paddle", "producer", "paddle-device-number")
    ]


def test_a_refusal_alone_is_no_fault() -> None:
    found = causes_of(
        failure("torch", "numpy", "bfloat16", "refused", "RuntimeError: Unsupported dtype"),
        failure("numpy", "unknown", "vector", "wrong", "arrives as [1.0]"),
    )
    assert [(cause.library, cause.is_fault) for cause in found] == [
        ("unknown", True),
        ("numpy", False),
    ]
    assert found[0].message == "arrives as other values"


def test_a_known_defect_names_the_command_that_explains_it() -> None:
    text = "Storage size calculation overflowed"
    (cause,) = causes_of(failure("numpy", "torch", "backwards", "crashed", text))
    command = "known: dlbridge explain torch-negative-strides"
    assert terminal._cause(cause).endswith(f"[1 exchange: backwards; {command}]")


def test_a_defect_explains_only_the_versions_that_have_it() -> None:
    text = "Storage size calculation overflowed"
    report = {"environments": [{"name": "here", "libraries": {"torch": "9.0"}}]}
    exchange = failure("numpy", "torch", "backwards", "crashed", text)
    assert [cause.defect for cause in causes.of(report, [exchange])] == [None]


# With dlbridge in between ----------------------------------------------------------------------


def test_what_works_through_dlbridge(fakes: Path) -> None:
    cases = ("vector", "stepped", "bool")
    report = exchange_all("numpy", add(fakes, "old"), cases=cases, via=True)
    came = one(report, "numpy", "old", "stepped")
    assert came["outcome"] == "refused"
    assert came["via"] == {"outcome": "copied", "how": "from_dlpack(x, copy=True)"}
    assert "via" not in one(report, "numpy", "old", "vector")
    assert summary.rescued(report) == [came, one(report, "old", "old", "stepped")]
    group, _ = summary.groups_via(summary.rescued(report))
    assert (group.producer, group.consumer, group.cases) == ("numpy", "old", ["stepped"])
    assert group.words == "from_dlpack(x, copy=True), copied"


def test_what_does_not(fakes: Path) -> None:
    report = exchange_all("numpy", add(fakes, "crashing"), add(fakes, "refusing"), via=True)
    assert one(report, "numpy", "crashing")["via"]["outcome"] == "crashed"
    assert one(report, "numpy", "refusing")["via"]["outcome"] == "refused"
    assert summary.rescued(report) == []
    assert {(each["producer"], each["consumer"]) for each in summary.lost(report)} == {
        (producer, consumer)
        for producer in ("numpy", "crashing", "refusing")
        for consumer in ("crashing", "refusing")
    }


def test_a_fault_is_one_that_others_do_not_meet(fakes: Path) -> None:
    report = exchange_all("dlbridge", add(fakes, "lying"), add(fakes, "spiteful"))
    assert report["judged"] == ["dlbridge", "lying", "spiteful"]
    assert one(report, "dlbridge", "lying")["outcome"] == "wrong"
    found = [(name, each["consumer"]) for name, each in summary.faults_of_judged(report)]
    assert [consumer for name, consumer in found if name == "dlbridge"] == ["spiteful"]
    assert {consumer for name, consumer in found if name == "lying"} == {"lying"}


def faults_of_ours(*exchanges: Any) -> list[Any]:
    return [each for _, each in summary.faults_of_judged({"exchanges": exchanges})]


def test_the_same_words_about_another_array_are_the_same_fault() -> None:
    words = "SIGABRT while TensorFlow computed with it: Check failed: IsAligned()"
    bad = {"consumer": "tensorflow", "outcome": "crashed", "said": words}
    ours = {**bad, "producer": "dlbridge", "case": "offset"}
    theirs = {**bad, "producer": "numpy", "case": "unaligned"}
    assert faults_of_ours(ours, theirs) == []
    assert faults_of_ours(ours) == [ours]
    other = {**theirs, "said": "SIGSEGV while TensorFlow imported it"}
    assert faults_of_ours(ours, other) == [ours]


@pytest.mark.parametrize("outcome", ["converted", "writable"])
def test_a_lost_mark_or_dtype_is_a_fault_of_the_side_that_loses_it(outcome: str) -> None:
    came = failure("dlbridge", "torch", "read-only", outcome, "it is lost")
    assert faults_of_ours(came) == []
    assert faults_of_ours({**came, "whose": "producer"}) == [{**came, "whose": "producer"}]


# Real libraries --------------------------------------------------------------------------------

BACKWARDS = "refused" if is_from("torch", "2.14.0") else "crashed"
UNMARKED = () if JAX_IS_VERSIONED else ("read-only",)  # legacy capsules have no mark for it
# The expected outcomes of these releases; all others are zero-copy, or there is no such array.
LIBRARIES: dict[str, dict[tuple[str, str, str], str]] = {
    "numpy": {},
    "torch": {
        ("numpy", "torch", "backwards"): BACKWARDS,
        ("dlbridge", "torch", "backwards"): BACKWARDS,
        ("numpy", "torch", "read-only"): "writable",
        ("dlbridge", "torch", "read-only"): "writable",
    },
    "jax": {
        **{
            (producer, "jax", case): "refused"
            for producer in ("numpy", "dlbridge")
            for case in ("stepped", "backwards", "broadcast", *UNMARKED)
        },
        **{
            (producer, "jax", case): "converted"
            for producer in ("numpy", "dlbridge")
            for case in ("int64", "uint64", "float64", "complex128")
        },
    },
}
# Refusals of bfloat16, and copies of unaligned memory.
LOOSE = {("bfloat16", "refused"), ("offset", "copied"), ("unaligned", "copied")}


def test_real_libraries(library: dict[tuple[str, str, str], str]) -> None:
    name = next(name for name, row in LIBRARIES.items() if row is library)
    report = exchange_all(*dict.fromkeys(["dlbridge", "numpy", name]), cases=tuple(CASES), via=True)
    usual = {"zero-copy", "impossible"}
    other = {
        (each["producer"], each["consumer"], each["case"]): each["outcome"]
        for each in report["exchanges"]
        if each["outcome"] not in usual and (each["case"], each["outcome"]) not in LOOSE
    }
    assert other == library
    assert summary.faults_of_judged(report) == []
    narrowed = [each["said"] for each in report["exchanges"] if each["outcome"] == "converted"]
    assert all(said.endswith(", as jax_enable_x64 is off") for said in narrowed)
    works = {
        (each["producer"], each["consumer"], each["case"])
        for each in report["exchanges"]
        if each.get("via", {}).get("outcome") in ARRIVED
    }
    assert works >= {key for key, outcome in library.items() if outcome != "converted"}


def test_memory_is_aligned_although_few_free_blocks_are() -> None:
    addresses = iter([16] * 300 + [128])
    library = libraries.Library("array", "array", (), address=lambda _, x: next(addresses))
    exchange.make(library, None, libraries.Case("one", lambda *_: object(), [], "int8"))
    assert next(addresses, None) is None


# Environments ----------------------------------------------------------------------------------


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_pair_runs_where_both_are(fakes: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    good = add(fakes, "good")
    (elsewhere / "far.py").write_text("")
    (fakes / "far_row.py").write_text("import matrix_fakes\nROW = matrix_fakes.row('far')\n")
    python = script(
        tmp_path / "python",
        f'PYTHONPATH="{elsewhere}:$PYTHONPATH" exec "{sys.executable}" "$@"',
    )
    names = [good, "far_row:ROW"]
    environments = [
        survey.examine_environment("here", sys.executable, names),
        survey.examine_environment("there", str(python), names),
    ]
    report = survey.run(survey.Plan(environments, names, ["vector"]))
    assert {
        (each["producer"], each["consumer"]): each["environment"] for each in report["exchanges"]
    } == {
        ("good", "good"): "here",
        ("good", "far"): "there",
        ("far", "good"): "there",
        ("far", "far"): "there",
    }
    assert {each["outcome"] for each in report["exchanges"]} == {"zero-copy"}
    assert [set(each["libraries"]) for each in report["environments"]] == [
        {"good"},
        {"good", "far"},
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--only", "nosuch"], "--only nosuch: no such library"),
        (["--only", "mxnet"], "--only mxnet: it is not installed in any environment"),
        (["--only", "nanobind"], "--only nanobind: it has no arrays of its own, so matrix cannot"),
        (["--case", "nosuch"], "invalid choice: 'nosuch'"),
        (["--environment", "x"], "expected NAME=PYTHON; got 'x'"),
        (["--environment", "x=/no/python"], "environment x: no Python can be run at /no/python"),
        (["--library", "nosuch:ROW"], "--library: ModuleNotFoundError: No module named 'nosuch'"),
        (
            ["--library", "os:path"],
            "os:path is module; expected a dlbridge.tools.libraries.Lib",
        ),
        (["--html", "/no/folder/x.html"], "/no/folder/x.html cannot be written"),
        (["--json", "/"], "/ cannot be written"),
    ],
)
def test_wrong_use(arguments: list[str], message: str) -> None:
    process = run(*arguments)
    assert (process.returncode, process.stdout) == (2, "")
    assert message in process.stderr


def test_libraries_without_arrays_are_not_offered() -> None:
    offered = run("--only", "nosuch").stderr.partition("there are ")[2].strip().split(", ")
    assert offered == [name for name in libraries.LIBRARIES if name not in ("joblib", "nanobind")]


def test_a_python_without_dlbridge(tmp_path: Path) -> None:
    python = script(tmp_path / "python", f'exec "{sys.executable}" -I -S "$@"')
    process = run("--environment", f"bare={python}")
    assert process.returncode == 2
    assert f"environment bare: {python} must be a Python with this dlbridge" in process.stderr
    assert "No module named 'dlbridge'" in process.stderr


# Renderings ------------------------------------------------------------------------------------


class Checker(html.parser.HTMLParser):
    """Checks that every element is closed, and that no other file is loaded."""

    EMPTY = ("meta", "input", "br", "link", "img")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: set[str] = set()
        self.links: set[str] = set()
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        values = dict(attributes)
        assert "src" not in values and tag != "link"
        self.ids |= {values["id"] or ""} if "id" in values else set()
        self.links |= {values["href"] or ""} if "href" in values else set()
        self.open += [tag] if tag not in self.EMPTY else []

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def test_the_page(fakes: Path) -> None:
    report = exchange_all("numpy", add(fakes, "old"), cases=("vector", "stepped"), via=True)
    text = page.render(report)
    checker = Checker()
    checker.feed(text)
    checker.close()
    assert checker.open == []
    assert checker.links == {f"#{a}-to-{b}" for a in ("numpy", "old") for b in ("numpy", "old")}
    assert {link[1:] for link in checker.links} <= checker.ids
    words = "".join(checker.text)
    assert "refused by old: BufferError: <b>legacy</b> & row-major only" in words
    assert "<b>legacy</b>" not in text
    assert "2 of 2 failing exchanges succeed" in words
    assert "$" not in text
    assert "http" not in text


def test_for_programs_and_browsers(fakes: Path, tmp_path: Path) -> None:
    files = [tmp_path / "x.json", tmp_path / "x.html"]
    more = ["--library", add(fakes, "old"), "--only", "old", "--only", "numpy", "--via", "dlbridge"]
    process = run(*more, "--case", "stepped", "--json", str(files[0]), "--html", str(files[1]))
    assert (process.returncode, process.stderr) == (0, "")
    report: Report = json.loads(files[0].read_text())
    assert report["dlbridge"] == dlbridge.__version__
    assert report["cases"] == ["stepped"]
    assert one(report, "numpy", "old", "stepped")["whose"] == "consumer"
    assert files[1].read_text() == page.render(report)
    assert "2 of 2 failing exchanges succeed" in process.stdout
    assert "numpy to old: stepped" in process.stdout

    json_only = run("--only", "numpy", "--case", "vector", "--json")
    assert [each["outcome"] for each in json.loads(json_only.stdout)["exchanges"]] == ["zero-copy"]


def test_exit_status_1_for_a_fault_of_ours(fakes: Path) -> None:
    more = ["--library", add(fakes, "spiteful"), "--only", "spiteful", "--only", "dlbridge"]
    process = run(*more, "--case", "vector")
    assert process.returncode == 1
    assert "With dlbridge itself: dlbridge to spiteful, vector: wrong: arrives as" in process.stdout


def test_for_people(
    fakes: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    report = exchange_all("numpy", add(fakes, "old"), cases=("vector", "stepped"))
    terminal.show(report, verbose=True)
    output = capsys.readouterr().out
    assert "⊘1" in output
    assert "8 exchanges in 4 pairs" in output
    assert "2 refused: one of the two raises an error" in output
    assert "refused by old: BufferError: <b>legacy</b> & row-major only" in output


def test_where_the_names_do_not_fit(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Numbers replace the names, and the columns are split into several tables."""
    names = [f"a_library_of_long_name_{i}" for i in range(15)]
    report = {
        "libraries": dict.fromkeys(names, ""),
        "environments": [],
        "via": False,
        "exchanges": [
            {"producer": a, "consumer": b, "case": "vector", "outcome": "crashed"}
            for a in names
            for b in names
        ],
    }
    monkeypatch.setenv("COLUMNS", "80")
    terminal.show(report)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.count("✖1") for line in lines) == 15 * 15
    assert any("continued" in line for line in lines)


def test_where_only_ascii_can_be_printed() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = run("--only", "numpy", "--case", "vector", env=environment)
    assert process.returncode == 0
    assert "= 1 zero-copy" in process.stdout


class Terminal:
    """A standard error that is a terminal, and records its output."""

    encoding = "utf-8"

    def __init__(self) -> None:
        self.written = ""

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.written += text
        return len(text)

    def flush(self) -> None:
        pass


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    with progress.Bar(2) as bar:
        bar.advance("numpy to torch")
        bar.advance("numpy to jax")
    assert "numpy to jax" in stream.written
    assert "2" in stream.written


def test_no_progress_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.Bar(1) as bar:
        bar.advance("numpy to torch")
    assert capsys.readouterr() == ("", "")


def test_messages_are_the_same_on_every_machine() -> None:
    message = "2026-11-21 20:00:01.123456: F /home/me/lib/tensor.h:84]  at\n 0x7fab12"
    assert tidy(message) == "F .../tensor.h:84] at 0x..."
    assert last_step("noise") == ("", "noise")
