# SPDX-License-Identifier: BSD-3-Clause
"""What all tools share: their output, its readers, the numbers in their options, and Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_hostile_targets import COMMAND, wait_for

from dlbridge.tools import output
from dlbridge.tools.conformance.rules import RULES

HERE = Path(__file__).parent
IN_TIME = 120  # seconds, on a busy machine
PATHS = os.pathsep.join([*(path or os.getcwd() for path in sys.path), str(HERE)])
MATRIX = ("matrix", "--only", "array", "--case", "vector")
INSPECT = ("inspect", "array:array('f', [1])")
DEFECT = ("explain", "torch-freed-twice")
SHOW = ("show", "array:array('f', [1])")
FULL = Path("/dev/full")

needs_full = pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")


def start(*arguments: str, variables: dict[str, str] | None = None, **more: Any) -> Any:
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more},
        env={**os.environ, "PYTHONPATH": PATHS, **(variables or {})},
    )


def run(*arguments: str, **more: Any) -> tuple[int, str, str]:
    process = start(*arguments, **more)
    out, err = process.communicate(timeout=IN_TIME)
    return process.returncode, out, err


@pytest.mark.parametrize("columns", ["0", "5"])
@pytest.mark.parametrize(
    "arguments", [("doctor", "--fast"), DEFECT, INSPECT, SHOW, MATRIX, ("demo", "--only", "array")]
)
def test_a_terminal_without_columns(arguments: tuple[str, ...], columns: str) -> None:
    status, out, err = run(*arguments, variables={"COLUMNS": columns})
    assert status == 0 and "Traceback" not in err, err
    assert len(out.split()) > 10, out


# Modules of the current folder -------------------------------------------------------------------

# A console script as pip writes it: Python puts its folder first on the path, not the current one.
SCRIPT = "import sys\nfrom dlbridge.__main__ import main\nsys.exit(main())\n"
OF_MODULES_HERE = [
    ("matrix", "--library=here:ROW", "--only=here", "--only=array", "--case=vector"),
    ("inspect", "here:array.array('f', [1])"),
    ("conformance", "here:make", "--only=P-01"),
]
HERE_TOO = """
import array
from dlbridge.tools.ctypes_arrays import array as capsule
from dlbridge.tools.libraries import Library

class make:
    def __dlpack_device__(self):
        return (1, 0)
    def __dlpack__(self):
        return capsule([1.0, 2.0], "float32")

ROW = Library("here", "here", (), array=lambda module, values, dtype: make())
"""


@pytest.mark.parametrize("arguments", OF_MODULES_HERE, ids=lambda each: each[0])
def test_the_console_script_finds_modules_of_the_current_folder(
    arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "here.py").write_text(HERE_TOO)
    script = tmp_path / "bin" / "dlbridge"
    script.write_text(SCRIPT)

    def ended(*more: str) -> subprocess.CompletedProcess[str]:
        paths = [each for each in sys.path if each and Path(each).exists()]
        command = [sys.executable, *more, str(script), *arguments]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
        return subprocess.run(
            command, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=IN_TIME
        )

    found = ended()
    assert found.returncode == 0, found.stderr
    if sys.version_info >= (3, 11) and arguments[0] == "matrix":
        forbidden = ended("-P")
        assert forbidden.returncode == 2 and "No module named 'here'" in forbidden.stderr


# Standard output ---------------------------------------------------------------------------------

# Commands and their statuses.
COMMANDS: list[tuple[tuple[str, ...], int]] = [
    (("--include-dir",), 0),
    (("--help",), 0),
    ((), 2),
    (("doctor", "--fast"), 0),
    (("doctor", "--fast", "--json"), 0),
    (DEFECT, 0),
    (("demo", "--only", "array"), 0),
    (("explain",), 0),
    (INSPECT, 0),
    ((*INSPECT, "--json"), 0),
    (SHOW, 0),
    (("inspect", "builtins:object()"), 1),
    (MATRIX, 0),
    ((*MATRIX, "--verbose"), 0),
    ((*MATRIX, "--json"), 0),
    (("conformance", "--rules"), 0),
    (("conformance", "conformance_targets:NoDevice", "--only=P-01", "--standard=2023.12"), 1),
]
NO_TOOL = "dlbridge: expected a TOOL, or an option\n"
each_command = pytest.mark.parametrize(("arguments", "status"), COMMANDS)


@each_command
@pytest.mark.parametrize("variables", [{"PYTHONUNBUFFERED": ""}, {"PYTHONUNBUFFERED": "1"}])
def test_a_reader_that_leaves_changes_nothing(
    arguments: tuple[str, ...], status: int, variables: dict[str, str]
) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        result, _, err = run(*arguments, variables=variables, stdout=writing)
    finally:
        os.close(writing)
    assert (result, err) == (status, "" if arguments else NO_TOOL)


def run_with_closed(streams: str, arguments: tuple[str, ...]) -> tuple[int, str, str]:
    command = ["sh", "-c", f'exec "$@" {streams}', "sh", sys.executable, "-m", "dlbridge"]
    environment = {**os.environ, "PYTHONPATH": PATHS}
    ended = subprocess.run(
        [*command, *arguments], env=environment, capture_output=True, text=True, timeout=IN_TIME
    )
    return ended.returncode, ended.stdout, ended.stderr


@each_command
def test_a_closed_standard_output_cannot_be_written(
    arguments: tuple[str, ...], status: int
) -> None:
    text = "dlbridge: the output cannot be written: Bad file descriptor\n"
    text = text if arguments else NO_TOOL + text
    assert run_with_closed(">&-", arguments) == (2, "", text)
    assert run_with_closed(">&- 2>&-", arguments) == (2, "", "")


@each_command
def test_a_closed_standard_error_changes_nothing(arguments: tuple[str, ...], status: int) -> None:
    result, out, _ = run_with_closed("2>&-", arguments)
    assert result == status and out


def test_a_file_is_saved_also_where_standard_output_is_closed(tmp_path: Path) -> None:
    saved = tmp_path / "matrix.json"
    assert run_with_closed(">&-", (*MATRIX, f"--json={saved}"))[0] == 2
    assert json.loads(saved.read_text())["complete"] is True


def test_wrong_usage_with_a_closed_standard_output() -> None:
    status, _, err = run_with_closed(">&-", ("inspect",))
    assert status == 2 and "cannot be written" not in err


@each_command
def test_an_encoding_without_the_characters(arguments: tuple[str, ...], status: int) -> None:
    result, out, err = run(*arguments, variables={"PYTHONIOENCODING": "ascii"})
    assert (result, err) == (status, "" if arguments else NO_TOOL)
    assert out.isascii() and "Traceback" not in out


def test_a_character_without_a_code_is_escaped() -> None:
    variables = {"PYTHONIOENCODING": "ascii"}
    assert "\\u201c" in run("conformance", "--rules", variables=variables)[1]
    assert "\\u201c" in run(*DEFECT, variables=variables)[1]


@needs_full
@pytest.mark.parametrize(
    "arguments",
    [("doctor", "--fast"), INSPECT, MATRIX, (*DEFECT, "--json"), ("--version",), ("--help",)],
)
def test_a_full_disk_is_reported_in_one_line(arguments: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        status, _, err = run(*arguments, stdout=full)
    assert status == 2
    assert err == "dlbridge: the output cannot be written: No space left on device\n"


# Files -------------------------------------------------------------------------------------------


@needs_full
@pytest.mark.parametrize(
    ("arguments", "shown"),
    [
        ((*MATRIX, "--json"), "1 exchange in 1 pair"),
        ((*MATRIX, "--html"), "1 exchange in 1 pair"),
        ((*INSPECT, "--html"), "array.array"),
        (("conformance", "numpy", "--only=P-01", "--junit"), "1 of 1 pass"),
        (("conformance", "numpy", "--only=P-01", "--badge"), "1 of 1 pass"),
    ],
)
def test_a_file_that_cannot_be_written_costs_no_report(
    arguments: tuple[str, ...], shown: str
) -> None:
    status, out, err = run(*arguments, str(FULL))
    assert status == 2
    assert shown in out
    assert err.endswith("/dev/full cannot be written: No space left on device\n")
    assert len(err.splitlines()) == 1


@needs_full
def test_the_other_file_is_still_written(tmp_path: Path) -> None:
    saved = tmp_path / "matrix.json"
    status, _, err = run(*MATRIX, "--html", str(FULL), "--json", str(saved))
    assert status == 2 and len(err.splitlines()) == 1
    assert json.loads(saved.read_text())["complete"] is True


def test_any_text_can_be_saved(tmp_path: Path) -> None:
    output.save(tmp_path / "text", "“\udc80”")
    assert (tmp_path / "text").read_text(encoding="utf-8") == "“\\udc80”"


LONE = """
import matrix_fakes

def take(module, x):
    raise ValueError("lone \\udc80")

matrix_fakes.TAKE["lone"] = take
ROW = matrix_fakes.row("lone")


class Array:
    def __dlpack__(self, **keywords):
        raise ValueError("lone \\udc80")

    def __dlpack_device__(self):
        return (1, 0)
"""


def test_a_lone_surrogate_in_a_message_of_a_library(tmp_path: Path) -> None:
    (tmp_path / "lone.py").write_text(LONE)
    paths = {"PYTHONPATH": os.pathsep.join([str(tmp_path), PATHS])}
    html, saved = tmp_path / "x.html", tmp_path / "x.json"
    arguments = ("matrix", "--library=lone:ROW", "--only=lone", "--case=vector", "--verbose")
    result = run(*arguments, f"--html={html}", f"--json={saved}", variables=paths)
    assert (result[0], result[2]) == (0, "")
    assert "lone \\udc80" in result[1]
    assert "lone \\udc80" in html.read_text(encoding="utf-8")
    (exchange,) = json.loads(saved.read_text(encoding="ascii"))["exchanges"]
    assert exchange["said"].endswith("lone \udc80")

    status, out, _ = run("inspect", "lone:Array()", f"--html={html}", variables=paths)
    assert status == 1 and "lone \\udc80" in out
    assert "lone \\udc80" in html.read_text(encoding="utf-8")

    of_conformance = ("conformance", "lone:Array", "--only=P-03", f"--junit={html}")
    status, out, err = run(*of_conformance, variables=paths)
    assert "Traceback" not in err and "lone \\udc80" in html.read_text(encoding="utf-8")


# Options -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", ["nan", "inf", "-1", "0", "1e9", "soon"])
@pytest.mark.parametrize(
    "arguments",
    [(*INSPECT, "--timeout"), (*MATRIX, "--timeout"), ("conformance", "numpy", "--timeout")],
)
def test_a_time_limit_is_a_positive_number(arguments: tuple[str, ...], number: str) -> None:
    status, out, err = run(*arguments, number)
    assert (status, out) == (2, "")
    words = "expected a number of seconds above 0 and below 1000000"
    assert err.endswith(f"argument {arguments[-1]}: {words}; got {number!r}\n")


@pytest.mark.parametrize("number", ["0", "-1", "1.5", "many"])
def test_a_number_of_jobs_is_positive(number: str) -> None:
    status, out, err = run(*MATRIX, "--jobs", number)
    assert (status, out) == (2, "")
    assert err.endswith(f"argument --jobs: expected a whole number above 0; got {number!r}\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("nosuch",), "dlbridge: argument TOOL: invalid choice: 'nosuch'"),
        (("matrix", "--jobs=0"), "dlbridge matrix: argument --jobs: expected"),
        (("matrix", "--only=nosuch"), "dlbridge matrix: --only nosuch: "),
        (("inspect", "array"), "dlbridge inspect: expected MODULE:EXPR"),
        (("inspect", "--html=/", INSPECT[1]), "dlbridge inspect: --html: expected"),
        (
            ("explain", "nosuch"),
            "dlbridge explain: argument ID: nothing has the identifier 'nosuch'",
        ),
        (("show", "array"), "dlbridge show: expected MODULE:EXPR"),
        (("conformance",), "dlbridge conformance: a TARGET is required"),
    ],
)
def test_every_error_has_the_same_form(arguments: tuple[str, ...], reason: str) -> None:
    status, out, err = run(*arguments)
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].startswith(reason)


@pytest.mark.parametrize(
    ("arguments", "tool", "message"),
    [
        ("doctor --fst", "doctor", "unrecognized arguments: --fst; did you mean --fast?"),
        ("matrix --jsno", "matrix", "unrecognized arguments: --jsno; did you mean --json?"),
        ("matrix --jso", "matrix", "unrecognized arguments: --jso; did you mean --json?"),
        ("show numpy:ones(3) --json", "show", "unrecognized arguments: --json"),
    ],
)
def test_an_unknown_option_of_a_tool(arguments: str, tool: str, message: str) -> None:
    status, out, err = run(*arguments.split())
    assert (status, out) == (2, "")
    assert err.startswith(f"usage: dlbridge {tool} [-h]")
    assert err.splitlines()[-1] == f"dlbridge {tool}: {message}"


def test_an_unknown_tool() -> None:
    status, out, err = run("inspct", "x")
    assert (status, out) == (2, "")
    assert err.splitlines()[-1].endswith("; did you mean inspect?")


def test_a_tool_is_required() -> None:
    status, out, err = run()
    assert (status, err) == (2, NO_TOOL)
    assert out.startswith("usage: dlbridge")


# Without the UTF-8 mode, Python decodes arguments as ASCII there, and keeps other bytes.
C_LOCALE = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_an_expression_may_have_any_characters_in_any_locale(tmp_path: Path) -> None:
    expression = "array:array('b', 'é'.encode())"
    status, out, err = run("inspect", expression, "--json", variables=C_LOCALE)
    assert (status, err) == (0, "")
    assert '"-61"' in out and '"-87"' in out
    assert json.loads(out)["title"] == expression
    (tmp_path / "accents.py").write_text("def é(): raise ValueError('é')\n", encoding="utf-8")
    variables = {**C_LOCALE, "PYTHONPATH": os.pathsep.join([PATHS, str(tmp_path)])}
    _, out, err = run("conformance", "accents:é", "--only", "P-01", variables=variables)
    assert "accents:\\xe9" in out + err and "UnicodeEncodeError" not in out + err


def test_an_expression_that_is_not_text_is_refused() -> None:
    argument = os.fsdecode(b"array:array('b', b'\xff')")
    status, out, err = run("inspect", argument, variables=C_LOCALE)
    assert (status, out) == (2, "")
    assert "dlbridge inspect: argument MODULE:EXPR: expected text in UTF-8; got" in err


def test_a_failed_inspection_has_the_form_of_an_error() -> None:
    status, _, err = run("inspect", "array:nosuch")
    assert status == 1
    assert err.startswith("dlbridge inspect: array:nosuch: the expression failed: NameError")


def test_help_says_what_decides_the_number_of_jobs() -> None:
    words = " ".join(run("matrix", "--help")[1].split())
    count = min(4, os.cpu_count() or 1)
    assert f"(default: the processors, at most 4; here {count})" in words


@pytest.mark.parametrize("text", ["numpy", "numpy:", ":ROW"])
def test_a_library_has_a_module_and_a_row(text: str) -> None:
    status, out, err = run("matrix", "--library", text)
    assert (status, out) == (2, "")
    assert err.endswith(f"argument --library: expected MODULE:ROW, as in mylib:ROW; got {text!r}\n")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (
            (*DEFECT, "--report", "--json"),
            "--report prints Markdown: it cannot be combined with --json",
        ),
        (("explain", "--report"), "--report requires the ID of a known defect; got none"),
        (("explain", "P-16", "--report"), "--report requires the ID of a known defect; got P-16"),
        (
            ("conformance", "--rules", "numpy"),
            "--rules examines nothing: it cannot be combined with target",
        ),
        (
            ("conformance", "--rules", "--only=P-01"),
            "--rules examines nothing: it cannot be combined with only",
        ),
        (
            ("conformance", "--rules", "--device=cpu"),
            "--rules examines nothing: it cannot be combined with device",
        ),
    ],
)
def test_options_without_an_effect_are_refused(arguments: tuple[str, ...], reason: str) -> None:
    assert run(*arguments) == (2, "", f"dlbridge {arguments[0]}: {reason}\n")


def test_the_rules_as_json() -> None:
    status, out, err = run("conformance", "--rules", "--json")
    values = json.loads(out)
    assert (status, err, values["schema"]) == (0, "", 1)
    assert [each["id"] for each in values["rules"]] == list(RULES)
    assert values["rules"][0]["sources"][0]["force"] in ("must", "should", "may", "states")


# Ctrl-C ------------------------------------------------------------------------------------------

HANGS = """
import os, pathlib, time
import matrix_fakes


def hang(*ignored):
    pathlib.Path("pid").write_text(str(os.getpid()))
    pathlib.Path("hangs").write_text("yes")
    time.sleep(600)


matrix_fakes.TAKE["hangs"] = hang
ROW = matrix_fakes.row("hangs")
"""


def interrupt(
    folder: Path, *arguments: str, by: signal.Signals = signal.SIGINT
) -> tuple[int, str, str]:
    """Sends a signal to the command once the library hangs."""
    (folder / "hangs.py").write_text(HANGS)
    process = start(
        *arguments, cwd=folder, variables={"PYTHONPATH": os.pathsep.join([str(folder), PATHS])}
    )
    try:
        wait_for(folder / "hangs")
        process.send_signal(by)
        out, err = process.communicate(timeout=20)  # less than the time limits of the tools
    finally:
        process.kill()
    return process.returncode, out, err


def test_ctrl_c_in_inspect(tmp_path: Path) -> None:
    assert interrupt(tmp_path, "inspect", "hangs:hang()") == (130, "", "dlbridge: interrupted\n")


def test_sigterm_ends_the_child_too(tmp_path: Path) -> None:
    status, *_ = interrupt(tmp_path, "inspect", "hangs:hang()", by=signal.SIGTERM)
    assert status == 130
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


MATRIX_THAT_HANGS = (
    *("matrix", "--library=hangs:ROW", "--only=array", "--only=hangs", "--case=vector"),
    *("--jobs=1", "--timeout=300"),
)


def test_ctrl_c_in_matrix_shows_what_was_exchanged(tmp_path: Path) -> None:
    status, out, err = interrupt(
        tmp_path, *MATRIX_THAT_HANGS, "--json=matrix.json", "--html=matrix.html"
    )
    assert (status, err) == (130, "")
    assert "1 exchange in 1 pair" in out
    assert out.endswith("interrupted: the exchanges that did not run are left out\n")
    assert "the exchanges that did not run are left out" in (tmp_path / "matrix.html").read_text()
    report = json.loads((tmp_path / "matrix.json").read_text())
    assert report["complete"] is False
    assert [each["producer"] for each in report["exchanges"]] == ["array"]


def test_ctrl_c_in_matrix_prints_one_object(tmp_path: Path) -> None:
    status, out, err = interrupt(tmp_path, *MATRIX_THAT_HANGS, "--json")
    assert (status, err, json.loads(out)["complete"]) == (130, "", False)


@pytest.mark.parametrize("tool", ["doctor", "demo"])
def test_ctrl_c_while_a_library_is_imported(tool: str, tmp_path: Path) -> None:
    """numpy is replaced by a module that hangs."""
    (tmp_path / "numpy.py").write_text("import hangs\nhangs.hang()\n")
    assert interrupt(tmp_path, tool) == (130, "", "dlbridge: interrupted\n")
