# SPDX-License-Identifier: BSD-3-Clause
"""The protocol of the exchange table: calls the two functions that describe an object."""

from __future__ import annotations

import ctypes as C
import functools
from dataclasses import replace
from typing import Any

from ... import abi
from .description import of_contents
from .memory import is_code, with_memory
from .protocols import Raised, Response, answered, guarded, timed

# Of dlpack.h 1.2, which held an integer (spec 5.1).
OLD_ATTRIBUTE = "__c_dlpack_exchange_api__"
SLOTS = {
    "give": "managed_tensor_from_py_object_no_sync",
    "lend": "dltensor_from_py_object_no_sync",
}
_Give = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(C.c_void_p))
_Lend = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(abi.Tensor))


def _owned(slot: int, x: Any) -> Response:
    """Requests a managed tensor, reads it, and calls its deleter."""
    out = C.c_void_p()
    _require_success(guarded(lambda: _Give(slot)(x, C.byref(out))))
    address = out.value or 0
    header = abi.read_memory(address, C.sizeof(abi.ManagedVersioned))
    if header is None:
        return Response("give", "unreadable", f"the managed tensor at {address:#x} is not readable")
    struct = abi.ManagedVersioned.from_buffer_copy(header)
    version = (struct.version.major, struct.version.minor)
    try:
        description = with_memory(of_contents(abi.read_struct(address, abi.VERSIONED)))
        response = Response(
            "give", "gave", description=replace(description, capsule=None), version=version
        )
    except abi.Unreadable as error:
        response = Response("give", "unreadable", str(error), version=version)
    if struct.deleter and is_code(struct.deleter):
        abi.Deleter(struct.deleter)(address)
    return response


def _borrowed(slot: int, x: Any) -> Response:
    """Requests a borrowed tensor in a struct of our own; it is valid only for the moment."""
    managed = abi.Managed()
    status, seconds = timed(
        lambda: _Lend(slot)(x, C.byref(managed.tensor)), lambda status: bool(status == 0)
    )
    _require_success(status)
    contents = abi.read_struct(C.addressof(managed), abi.LEGACY)
    description = replace(of_contents(contents), capsule=None, deleter_is_null=None)
    return Response("lend", "gave", description=with_memory(description), seconds=seconds)


def _require_success(status: int) -> None:
    if status != 0:
        raise Raised(RuntimeError(f"the function returned {status} without an exception"))


def examine(x: Any) -> list[Response]:
    """Calls both functions. Without a table, both protocols are absent."""
    functions = [("give", _owned), ("lend", _borrowed)]
    try:
        table = guarded(lambda: abi.exchange_table(type(x)))
    except Raised as error:
        text = str(error).replace("Unreadable: ", "")
        return [Response(name, "unreadable", text) for name, _ in functions]
    if table is None:
        has_old = guarded(lambda: hasattr(type(x), OLD_ATTRIBUTE))
        text = f"only {OLD_ATTRIBUTE}, of DLPack 1.2" if has_old else ""
        return [Response(name, "absent", text) for name, _ in functions]
    responses = []
    for name, call in functions:
        slot = getattr(table, SLOTS[name]) or 0
        if not slot:
            responses.append(Response(name, "absent", f"the table has no {SLOTS[name]}"))
        elif not is_code(slot):
            text = f"{SLOTS[name]} is {slot:#x}, which is not executable"
            responses.append(Response(name, "unreadable", text))
        else:
            responses.append(answered(name, functools.partial(call, slot, x)))
    return responses
