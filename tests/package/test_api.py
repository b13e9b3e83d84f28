# SPDX-License-Identifier: BSD-3-Clause
"""packaging/check_api.py finds every change of the interface, in a copy of the sources in which one
item of each kind is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[2]
SOURCES = ("CHANGELOG.md", "CMakeLists.txt", "LICENSE", "LICENSES", "NOTICE", "cmake", "docs",
           "include", "packaging", "pyproject.toml", "python", "tests/docs")  # fmt: skip
CORE = "packaging/headers/dlbridge_headers/core.pxd"
TENSOR = "dlbridge_headers.core.tensor_view"

# By what is planted: the file, the text, what replaces it, and what the lists then lack, each with
# the name by which the changelog names it.
GONE = {
    "C++ function": (
        "include/dlbridge/dtype.hpp",
        "constexpr bool is_known(dtype t) noexcept { return t.code < dtype_row_count; }", "",
        ["function dlbridge::is_known  constexpr bool(dtype) noexcept"],
    ),
    "C++ class member": (
        "include/dlbridge/tensor_view.hpp",
        "  bool is_padded() const noexcept { return (flags_ & flag_padded) != 0; }", "",
        ["function dlbridge::tensor_view::is_padded  bool() const noexcept"],
    ),
    "macro": (
        "include/dlbridge/abi.hpp", "/// Whether dlpack.h is version 1.minor",
        "// Whether dlpack.h is version 1.minor",  # other macros are internal
        ["macro DLBRIDGE_DLPACK_AT_LEAST  (minor)"],
    ),
    "enumerator": (
        "include/dlbridge/abi.hpp", "{ legacy, versioned };", "{ legacy };",
        ["enumerator dlbridge::struct_kind::versioned  = 1"],
    ),
    "header": (
        "include/dlbridge/runtime.hpp", None, None, ["header <dlbridge/runtime.hpp>"],
    ),
    "Python function": (
        "python/dlbridge/__init__.py", '    "get_include",\n', "",
        ["function dlbridge.get_include  () -> str"],
    ),
    "parameter default": (
        "python/dlbridge/_core.pyi", "pinned: bool = False", "pinned: bool = True",
        ["function dlbridge.empty  (shape: SupportsIndex | Sequence[SupportsIndex], dtype: "
         "DTypeLike, *, device: DeviceLike | None='cpu', pinned: bool=False) -> Tensor"],
    ),
    "Cython declaration": (
        CORE, "        bint is_compact()\n", "", [f"cython {TENSOR}.is_compact  bint is_compact()"],
    ),
    "CMake target": (
        "cmake/dlbridgeCompiled.cmake",
        "  add_library(dlbridge::python_compiled ALIAS dlbridge_python_compiled)\n", "",
        ["target dlbridge::python_compiled"],
    ),
    "CMake option": (
        "CMakeLists.txt",
        'option(DLBRIDGE_BENCH "Build the benchmarks" ${PROJECT_IS_TOP_LEVEL})\n', "",
        ["option DLBRIDGE_BENCH  BOOL = PROJECT_IS_TOP_LEVEL"],
    ),
    "command-line option": (
        "python/dlbridge/tools/conformance/__init__.py", '        "-v",\n', "",
        [f"option python -m {each} conformance -v  takes 0; default False"
         for each in ("dlbridge", "dlbridge_tools")],
    ),
    "environment variable": (
        "python/dlbridge/tools/output.py", 'os.environ.get("FORCE_COLOR")', '""',
        ["variable FORCE_COLOR"],
    ),
    "JSON key": (
        "python/dlbridge/tools/conformance/results.py",
        '            "remarks": list(self.remarks),\n', "",
        ["key conformance.remarks  list"],
    ),
}  # fmt: skip
NEW = {  # inserted before the text
    "Cython declaration": (
        CORE, "        bint is_column_major()\n", "        bint is_new()\n",
        f"cython {TENSOR}.is_new  bint is_new()",
    ),
    "CMake option": (
        "CMakeLists.txt", "option(DLBRIDGE_INSTALL ", 'option(DLBRIDGE_NEW "New" ON)\n',
        "option DLBRIDGE_NEW  BOOL = ON",
    ),
}  # fmt: skip
ADDED = {
    *(item for *_, item in NEW.values()),
    GONE["parameter default"][3][0].replace("False", "True"),  # the new form of what has changed
}
NAMES = ("is_known", "tensor_view::is_padded()", "DLBRIDGE_DLPACK_AT_LEAST", "versioned",
         "<dlbridge/runtime.hpp>", "get_include", "empty", "is_compact", "python_compiled",
         "DLBRIDGE_BENCH", "conformance -v", "FORCE_COLOR", "remarks")  # fmt: skip


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with all changes."""
    root = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        copy = shutil.copytree if (CHECKOUT / name).is_dir() else shutil.copy
        (root / name).parent.mkdir(exist_ok=True)
        copy(CHECKOUT / name, root / name)
    for file, text, other, _ in GONE.values():
        if text is None:
            (root / file).unlink()
        else:
            replace(root / file, text, other)
    for file, text, inserted, _ in NEW.values():
        replace(root / file, text, inserted + text)
    return root


def replace(file: Path, text: str, other: str) -> None:
    content = file.read_text()
    assert content.count(text) == 1, f"{file} has other text: plant something else"
    file.write_text(content.replace(text, other))


def run(root: Path, *arguments: str) -> tuple[int, str, set[str], set[str]]:
    """Runs the check. Returns its status, its text, and the items that are gone and new."""
    done = subprocess.run([sys.executable, str(root / "packaging" / "check_api.py"), *arguments],
                          capture_output=True, text=True)  # fmt: skip
    assert done.stderr == ""
    gone, new, here = set(), set(), set()
    for line in done.stdout.splitlines():
        if line.startswith("  "):
            here.add(line.strip())
        else:
            here = gone if line.endswith("removed or changed:") else new
    return done.returncode, done.stdout, gone, new


def lists(root: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in (root / "packaging" / "api").glob("*.txt")}


def test_exactly_what_is_planted_is_found(changed: Path) -> None:
    status, text, gone, new = run(changed)
    assert status == 1
    assert gone == {item for *_, items in GONE.values() for item in items}
    assert new == ADDED
    assert text.count("Name each in backticks in CHANGELOG.md") == 6  # once for each list
    assert text.count("DLBRIDGE_ABI_NUMBER") == 1
    assert text.count("--write`") == 8


def test_write_refuses_what_the_changelog_does_not_name(changed: Path) -> None:
    before = lists(changed)
    status, text, gone, _ = run(changed, "--write", "--only", "environment,python")
    assert status == 1 and lists(changed) == before
    assert "variable FORCE_COLOR" in gone and "Name each in backticks" in text


def test_write_drops_what_the_changelog_names(changed: Path) -> None:
    entries = "".join(f"- `{name}`: use something else.\n" for name in NAMES)
    heading = "## [Unreleased]\n"
    replace(changed / "CHANGELOG.md", heading, f"{heading}\n### Removed\n\n{entries}\n### Other\n")
    before = set("".join(lists(changed).values()).splitlines())
    status, text, *_ = run(changed, "--write")
    assert status == 0, text
    after = set("".join(lists(changed).values()).splitlines())
    assert before - after == {item for *_, items in GONE.values() for item in items}
    assert after - before == ADDED
