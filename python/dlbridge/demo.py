"""The demo: tensors of every importable library into C++ and back, and what happened to each.

Each library runs in a process of its own, so that one that crashes, hangs or prints on import costs
only its own rows.
"""

from __future__ import annotations

import array
import ctypes
import gc
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Callable

import dlbridge
from dlbridge import _core, _tables

SECONDS_PER_LIBRARY = 120
VALUES = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


@dataclass(frozen=True)
class Library:
    """How a library is talked to; every function gets the imported module first."""

    module: str
    make: Callable[[Any], Any]  # an array of VALUES as float32
    address: Callable[[Any, Any], int]
    back: Callable[[Any, Any], Any]  # its own kind of array from a dlbridge.Tensor
    values: Callable[[Any, Any], Any]  # the elements as a list


def _buffer_address(memory: Any) -> int:
    return ctypes.addressof(ctypes.c_char.from_buffer(memory))


LIBRARIES = [
    Library(
        "array",  # Python's own: no DLPack, but the buffer protocol
        make=lambda m: m.array("f", VALUES),
        address=lambda m, x: _buffer_address(x),
        back=lambda m, t: memoryview(t),
        values=lambda m, x: list(x),
    ),
    Library(
        "numpy",
        make=lambda m: m.array(VALUES, dtype="float32"),
        address=lambda m, x: x.ctypes.data,
        back=lambda m, t: m.from_dlpack(t),
        values=lambda m, x: x.tolist(),
    ),
    Library(
        "torch",
        make=lambda m: m.tensor(VALUES),
        address=lambda m, x: x.data_ptr(),
        back=lambda m, t: m.from_dlpack(t),
        values=lambda m, x: x.tolist(),
    ),
    Library(
        "jax",
        make=lambda m: m.numpy.asarray(VALUES, dtype="float32"),
        address=lambda m, x: x.unsafe_buffer_pointer(),
        back=lambda m, t: m.dlpack.from_dlpack(t),
        values=lambda m, x: x.tolist(),
    ),
    Library(
        "tensorflow",
        make=lambda m: m.constant(VALUES, dtype="float32"),
        address=lambda m, x: x.numpy().ctypes.data,
        back=lambda m, t: m.experimental.dlpack.from_dlpack(dlbridge.to_dlpack(t)),
        values=lambda m, x: x.numpy().tolist(),
    ),
    Library(
        "cupy",
        make=lambda m: m.asarray(VALUES, dtype="float32"),
        address=lambda m, x: x.data.ptr,
        back=lambda m, t: m.from_dlpack(t),
        values=lambda m, x: x.tolist(),
    ),
    Library(
        "paddle",
        make=lambda m: m.to_tensor(VALUES, dtype="float32"),
        address=lambda m, x: x.data_ptr(),
        back=lambda m, t: m.from_dlpack(t),
        values=lambda m, x: x.tolist(),
    ),
    Library(
        "tvm_ffi",
        make=lambda m: m.from_dlpack(dlbridge.as_tensor(array.array("f", VALUES))),
        address=lambda m, x: x.data_ptr(),
        back=lambda m, t: m.from_dlpack(t),
        values=lambda m, x: memoryview(dlbridge.from_dlpack(x)).tolist(),
    ),
]


def _into_cpp_and_back(library: Library, module: Any) -> dict[str, Any]:
    source = library.make(module)
    there = library.address(module, source)
    tensor = dlbridge.as_tensor(source)
    back = library.back(module, tensor)
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
    freed: list[bool] = []
    tensor = _core._vector(len(VALUES), lambda: freed.append(True))
    in_cpp = tensor.data_ptr
    theirs = library.back(module, tensor)
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


def _run_library(name: str) -> dict[str, Any]:
    """The rows of one library, in the child process."""
    library = next(each for each in LIBRARIES if each.module == name)
    module = importlib.import_module(name)
    return {
        "version": getattr(module, "__version__", "Python " + sys.version.split()[0]),
        "in": _into_cpp_and_back(library, module),
        "out": _out_of_cpp(library, module),
    }


def _ask_child(name: str) -> dict[str, Any]:
    """Runs one library in a child process; whatever goes wrong there becomes its row."""
    program = (
        "import sys, json, os; out = os.dup(1); os.dup2(2, 1); from dlbridge import demo; "
        "os.write(out, json.dumps(demo._run_library(sys.argv[1])).encode())"
    )
    try:
        done = subprocess.run(
            [sys.executable, "-c", program, name],
            capture_output=True,
            timeout=SECONDS_PER_LIBRARY,
            env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
        )
    except subprocess.TimeoutExpired:
        return {"library": name, "failed": f"took more than {SECONDS_PER_LIBRARY} s"}
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip().splitlines() or ["nothing was said"]
        return {"library": name, "failed": f"exit status {done.returncode}: {said[-1]}"}
    return {"library": name, **json.loads(done.stdout)}


def collect(only: Sequence[str] | None = None) -> dict[str, Any]:
    """Everything the demo shows, as one object for machines."""
    names = [
        library.module
        for library in LIBRARIES
        if (only is None or library.module in only) and importlib.util.find_spec(library.module)
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


def _beside(address: int, other: int) -> str:
    return "same" if address == other else f"copied to {hex(other)}"


def _freed(row: dict[str, Any]) -> str:
    calls = row["out"]["deleter_calls"]
    if calls != 1:
        return f"DELETER RAN {calls} TIMES"
    if row["out"]["freed_with_ours"]:
        return "with our Tensor, as theirs is a copy"
    return f"once, with {row['library']}'s, after our Tensor had gone"


def _show(result: dict[str, Any]) -> None:
    libraries = [row for row in result["libraries"] if "failed" not in row]
    print(f"dlbridge {result['dlbridge']}, DLPack {result['dlpack']}\n")
    _tables.show(
        "Into C++ and back",
        ["library", "tensor", "address", "in C++", "back again", "when its source had gone"],
        [
            [
                f"{row['library']} {row['version']}",
                row["in"]["tensor"],
                hex(row["in"]["address"]),
                _beside(row["in"]["address"], row["in"]["address_in_cpp"]),
                _beside(row["in"]["address"], row["in"]["address_back"]),
                "values stand" if row["in"]["outlives_source"] else "VALUES LOST",
            ]
            for row in libraries
        ],
    )
    _tables.show(
        "A std::vector<float> of C++ out to each",
        ["library", "address in C++", "there", "the vector was freed"],
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
    _tables.show(
        "Refused, and why",
        ["tried", "raised", "said"],
        [[row["tried"], row["raised"], row["said"]] for row in result["refusals"]],
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


def run(as_json: bool = False, only: Sequence[str] | None = None) -> int:
    """Shows the demo. 0 when everything held, 1 when a library failed or a refusal is missing."""
    result = collect(only)
    if as_json:
        print(json.dumps(result, indent=2))
    else:
        _show(result)
    held = all(map(_holds, result["libraries"])) and all(
        row["raised"] for row in result["refusals"]
    )
    return 0 if held else 1
