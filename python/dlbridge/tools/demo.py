# SPDX-License-Identifier: BSD-3-Clause
"""Passes tensors of every importable library to C++ and back, and reports the results.

Each library runs in its own process, so that a crash, a hang or output on import affects only its
own rows.
"""

from __future__ import annotations

import argparse
import array
import contextlib
import ctypes
import gc
import json
import platform
import sys
from collections.abc import Sequence
from typing import Any, Callable

from . import children, core, output, tables
from .libraries import LIBRARIES, Library

with contextlib.suppress(ImportError):  # run() says what is missing
    import dlbridge

SUMMARY = "pass tensors of every importable library to C++ and back, and show the results"
EXAMPLES = """\
demo --only numpy
demo --only array --json
"""
if core.ROOT != "dlbridge":
    SUMMARY += "; needs dlbridge"
VALUES = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
SHOWN = tuple(name for name, library in LIBRARIES.items() if library.in_demo)


def _import_tensor(library: Library, module: Any, tensor: dlbridge.Tensor) -> Any:
    assert library.take is not None
    return library.take(module, dlbridge.to_dlpack(tensor) if library.takes_capsules else tensor)


def _into_cpp_and_back(library: Library, module: Any) -> dict[str, Any]:
    assert library.array is not None and library.address is not None
    source = library.array(module, VALUES, "float32")
    address = library.address(module, source)
    tensor = dlbridge.as_tensor(source)
    result = _import_tensor(library, module, tensor)
    row = {
        "tensor": f"{tensor.dtype}{list(tensor.shape)}",
        "address": address,
        "address_in_cpp": tensor.data_ptr,
        "address_back": library.address(module, result),
    }
    row["zero_copy"] = row["address"] == row["address_in_cpp"] == row["address_back"]
    del source, tensor
    gc.collect()
    row["outlives_source"] = library.values(module, result) == VALUES
    return row


def _out_of_cpp(library: Library, module: Any) -> dict[str, Any]:
    from dlbridge import _core

    assert library.address is not None
    freed: list[bool] = []
    tensor = _core._vector(len(VALUES), lambda: freed.append(True))
    in_cpp = tensor.data_ptr
    consumer_array = _import_tensor(library, module, tensor)
    row = {"address_in_cpp": in_cpp, "address": library.address(module, consumer_array)}
    row["zero_copy"] = row["address"] == in_cpp
    del tensor
    gc.collect()
    row["freed_with_ours"] = bool(freed)
    row["values_right"] = library.values(module, consumer_array) == VALUES
    del consumer_array
    gc.collect()
    row["deleter_calls"] = len(freed)
    return row


def _used_capsule() -> None:
    capsule = dlbridge.to_dlpack(array.array("f", VALUES))
    dlbridge.from_dlpack(capsule)
    dlbridge.from_dlpack(capsule)


def _no_tensor() -> None:
    anything: Any = object()
    dlbridge.from_dlpack(anything)


def _misspelt() -> None:
    export: Any = dlbridge.as_tensor(b"x").__dlpack__
    export(max_versoin=(1, 0))


REFUSALS: dict[str, Callable[[], Any]] = {
    "an object that is no tensor": _no_tensor,
    "a capsule used twice": _used_capsule,
    "read-only bytes, as a legacy capsule": lambda: dlbridge.to_dlpack(b"read-only"),
    "a stream on the CPU": lambda: dlbridge.as_tensor(b"x").__dlpack__(stream=1),
    "a misspelt keyword": _misspelt,
    "items that are not numbers": lambda: dlbridge.as_tensor((ctypes.c_wchar * 3)()),
}


def _refusals() -> list[dict[str, str]]:
    rows = []
    for description, attempt in REFUSALS.items():
        row = {"tried": description, "raised": "", "said": "accepted"}
        try:
            attempt()
        except Exception as error:
            row.update(raised=type(error).__name__, said=str(error))
        rows.append(row)
    return rows


def run_library(name: str) -> dict[str, Any]:
    """Returns the rows of one library, in the child process."""
    library = LIBRARIES[name]
    module = library.load()
    return {
        "version": library.version or f"Python {platform.python_version()}",
        "in": _into_cpp_and_back(library, module),
        "out": _out_of_cpp(library, module),
    }


def _run_in_child(name: str) -> dict[str, Any]:
    """Runs one library in a child process; a failure there becomes its row."""
    answer = children.call(f"{__name__}:run_library", name=name)
    if answer.outcome == "returned":
        return {"library": name, **answer.value}
    last = answer.noise.splitlines()[-1:] if answer.outcome == "crashed" else []
    return {"library": name, "failed": ": ".join([f"{answer.outcome}: {answer.message}", *last])}


def collect(only: Sequence[str] | None = None) -> dict[str, Any]:
    """Returns the results of the demo as one object."""
    names = [
        name for name in SHOWN if (only is None or name in only) and LIBRARIES[name].importable
    ]
    return {
        "dlbridge": dlbridge.__version__,
        "dlpack": ".".join(map(str, dlbridge.DLPACK_VERSION)),
        "libraries": [_run_in_child(name) for name in names],
        "refusals": _refusals(),
    }


def _is_right(row: dict[str, Any]) -> bool:
    return "failed" not in row and all(
        [
            row["in"]["outlives_source"],
            row["out"]["values_right"],
            row["out"]["deleter_calls"] == 1,
            row["out"]["freed_with_ours"] != row["out"]["zero_copy"],
        ]
    )


def _tensors(rows: Sequence[dict[str, Any]]) -> str:
    return ", ".join(sorted({row["in"]["tensor"] for row in rows})) or "a tensor"


def _compared(address: int, other: int) -> str:
    return "same" if address == other else "copied"


def _freed(row: dict[str, Any]) -> str:
    calls = row["out"]["deleter_calls"]
    if calls != 1:
        return f"DELETER RAN {calls} TIMES"
    return "once, with our tensor" if row["out"]["freed_with_ours"] else "once, with their array"


def _show(result: dict[str, Any]) -> None:
    libraries = [row for row in result["libraries"] if "failed" not in row]
    print(f"dlbridge {result['dlbridge']}, DLPack {result['dlpack']}\n")
    tables.show(
        f"Into C++ and back: {_tensors(libraries)}, read after its source was freed",
        ["library", "version", "address", "in C++", "back", "values"],
        [
            [
                row["library"],
                row["version"],
                hex(row["in"]["address"]),
                _compared(row["in"]["address"], row["in"]["address_in_cpp"]),
                _compared(row["in"]["address"], row["in"]["address_back"]),
                "right" if row["in"]["outlives_source"] else "LOST",
            ]
            for row in libraries
        ],
    )
    tables.show(
        "Out of C++: a std::vector<float>, whose Tensor is dropped first",
        ["library", "address in C++", "in library", "freed"],
        [
            [
                row["library"],
                hex(row["out"]["address_in_cpp"]),
                _compared(row["out"]["address_in_cpp"], row["out"]["address"]),
                _freed(row),
            ]
            for row in libraries
        ],
    )
    tables.show_items(
        "Refused requests",
        [(row["tried"], f"{row['raised']}: {row['said']}") for row in result["refusals"]],
    )
    for row in result["libraries"]:
        if "failed" in row:
            print(output.printable(f"{row['library']}: {row['failed']}"))
    exchanges = [part for row in libraries for part in (row["in"], row["out"])]
    zero_copies = sum(part["zero_copy"] for part in exchanges)
    print(
        f"{output.plural(len(exchanges), 'exchange')} with "
        f"{output.plural(len(libraries), 'library', 'libraries')}: {zero_copies} without a copy, "
        f"{len(exchanges) - zero_copies} copied by the library. "
        f"{sum(_is_right(row) for row in libraries)} of {len(result['libraries'])} preserved every "
        "value and freed every tensor once."
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument(
        "--only",
        metavar="LIBRARY",
        choices=SHOWN,
        action="append",
        help="use this library only; may be given several times",
    )


def run(options: argparse.Namespace) -> int:
    """Shows the demo. 0: every result is right; 1: some are not; 2: dlbridge is not compiled."""
    if reason := core.why_missing():
        print(f"{core.COMMAND} demo: {reason}", file=sys.stderr)
        return 2
    result = collect(options.only)
    if options.json:
        print(json.dumps({"schema": 1, **result}, indent=2))
    else:
        _show(result)
    all_right = all(map(_is_right, result["libraries"])) and all(
        row["raised"] for row in result["refusals"]
    )
    return 0 if all_right else 1
