"""The demo: tensors of every importable library into C++ and back, and what happened to each.

Each library runs in a process of its own, so that one that crashes, hangs or prints on import costs
only its own rows.
"""

from __future__ import annotations

import argparse
import array
import ctypes
import gc
import json
import platform
from collections.abc import Sequence
from typing import Any, Callable

import dlbridge
from dlbridge import _core
from dlbridge.tools import children, tables
from dlbridge.tools.libraries import LIBRARIES, Library

SUMMARY = "carry tensors of every importable library into C++ and back, and show what happened"
VALUES = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
SHOWN = ("array", "numpy", "torch", "jax", "tensorflow", "cupy", "paddle", "tvm_ffi")


def _takes(library: Library, module: Any, tensor: dlbridge.Tensor) -> Any:
    assert library.take is not None
    return library.take(module, dlbridge.to_dlpack(tensor) if library.takes_capsules else tensor)


def _into_cpp_and_back(library: Library, module: Any) -> dict[str, Any]:
    assert library.array is not None and library.address is not None
    source = library.array(module, VALUES, "float32")
    there = library.address(module, source)
    tensor = dlbridge.as_tensor(source)
    back = _takes(library, module, tensor)
    row = {
        "tensor": f"{tensor.dtype}{list(tensor.shape)}",
        "address": there,
        "address_in_cpp": tensor.data_ptr,
        "address_back": library.address(module, back),
    }
    row["zero_copy"] = row["address"] == row["address_in_cpp"] == row["address_back"]
    del source, tensor
    gc.collect()
    row["outlives_source"] = library.values(module, back) == VALUES
    return row


def _out_of_cpp(library: Library, module: Any) -> dict[str, Any]:
    assert library.address is not None
    freed: list[bool] = []
    tensor = _core._vector(len(VALUES), lambda: freed.append(True))
    in_cpp = tensor.data_ptr
    theirs = _takes(library, module, tensor)
    row = {"address_in_cpp": in_cpp, "address": library.address(module, theirs)}
    row["zero_copy"] = row["address"] == in_cpp
    del tensor
    gc.collect()
    row["freed_with_ours"] = bool(freed)
    row["values_right"] = library.values(module, theirs) == VALUES
    del theirs
    gc.collect()
    row["deleter_calls"] = len(freed)
    return row


def _used_capsule() -> None:
    capsule = dlbridge.to_dlpack(array.array("f", VALUES))
    dlbridge.from_dlpack(capsule)
    dlbridge.from_dlpack(capsule)


def _misspelt() -> None:
    export: Any = dlbridge.as_tensor(b"x").__dlpack__
    export(max_versoin=(1, 0))


REFUSALS: dict[str, Callable[[], Any]] = {
    "no tensor at all": lambda: dlbridge.from_dlpack(object()),
    "a capsule used twice": _used_capsule,
    "read-only bytes, as a legacy capsule": lambda: dlbridge.to_dlpack(b"read-only"),
    "a stream for the CPU": lambda: dlbridge.as_tensor(b"x").__dlpack__(stream=1),
    "a misspelt keyword": _misspelt,
    "items that are no numbers": lambda: dlbridge.as_tensor((ctypes.c_wchar * 3)()),
}


def _refusals() -> list[dict[str, str]]:
    rows = []
    for what, attempt in REFUSALS.items():
        row = {"tried": what, "raised": "", "said": "accepted"}
        try:
            attempt()
        except Exception as refused:
            row.update(raised=type(refused).__name__, said=str(refused))
        rows.append(row)
    return rows


def run_library(name: str) -> dict[str, Any]:
    """The rows of one library, in the child process."""
    library = LIBRARIES[name]
    module = library.load()
    return {
        "version": library.version or f"Python {platform.python_version()}",
        "in": _into_cpp_and_back(library, module),
        "out": _out_of_cpp(library, module),
    }


def _ask_child(name: str) -> dict[str, Any]:
    """Runs one library in a child process; whatever goes wrong there becomes its row."""
    answer = children.call("dlbridge.tools.demo:run_library", name=name)
    if answer.outcome == "returned":
        return {"library": name, **answer.value}
    last = answer.noise.splitlines()[-1:] if answer.outcome == "crashed" else []
    return {"library": name, "failed": ": ".join([f"{answer.outcome}: {answer.said}", *last])}


def collect(only: Sequence[str] | None = None) -> dict[str, Any]:
    """Everything the demo shows, as one object for machines."""
    names = [
        name for name in SHOWN if (only is None or name in only) and LIBRARIES[name].importable
    ]
    return {
        "dlbridge": dlbridge.__version__,
        "dlpack": ".".join(map(str, dlbridge.DLPACK_VERSION)),
        "libraries": [_ask_child(name) for name in names],
        "refusals": _refusals(),
    }


def _holds(row: dict[str, Any]) -> bool:
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


def _beside(address: int, other: int) -> str:
    return "same" if address == other else "copied"


def _freed(row: dict[str, Any]) -> str:
    calls = row["out"]["deleter_calls"]
    if calls != 1:
        return f"DELETER RAN {calls} TIMES"
    return "once, with ours" if row["out"]["freed_with_ours"] else "once, with theirs"


def _show(result: dict[str, Any]) -> None:
    libraries = [row for row in result["libraries"] if "failed" not in row]
    print(f"dlbridge {result['dlbridge']}, DLPack {result['dlpack']}\n")
    tables.show(
        f"Into C++ and back: {_tensors(libraries)}, read when its source has gone",
        ["library", "version", "address", "in C++", "back", "values"],
        [
            [
                row["library"],
                row["version"],
                hex(row["in"]["address"]),
                _beside(row["in"]["address"], row["in"]["address_in_cpp"]),
                _beside(row["in"]["address"], row["in"]["address_back"]),
                "right" if row["in"]["outlives_source"] else "LOST",
            ]
            for row in libraries
        ],
    )
    tables.show(
        "Out of C++: a std::vector<float>, its Tensor dropped first",
        ["library", "address in C++", "there", "freed"],
        [
            [
                row["library"],
                hex(row["out"]["address_in_cpp"]),
                _beside(row["out"]["address_in_cpp"], row["out"]["address"]),
                _freed(row),
            ]
            for row in libraries
        ],
    )
    tables.show_items(
        "Refused, and why",
        [(row["tried"], f"{row['raised']}: {row['said']}") for row in result["refusals"]],
    )
    for row in result["libraries"]:
        if "failed" in row:
            print(f"{row['library']}: {row['failed']}")
    exchanges = [part for row in libraries for part in (row["in"], row["out"])]
    shared = sum(part["zero_copy"] for part in exchanges)
    print(
        f"{len(libraries)} libraries, {len(exchanges)} exchanges: {shared} without a copy, "
        f"{len(exchanges) - shared} copied by the other side; "
        f"{sum(_holds(row) for row in libraries)} of {len(result['libraries'])} libraries "
        "kept every value and freed every tensor once."
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON object instead")
    parser.add_argument(
        "--only",
        metavar="LIBRARY",
        choices=SHOWN,
        action="append",
        help="leave the other libraries out; may be given several times",
    )


def run(given: argparse.Namespace) -> int:
    """Shows the demo. 0 when everything held, 1 when a library failed or a refusal is missing."""
    result = collect(given.only)
    if given.json:
        print(json.dumps(result, indent=2))
    else:
        _show(result)
    held = all(map(_holds, result["libraries"])) and all(
        row["raised"] for row in result["refusals"]
    )
    return 0 if held else 1
