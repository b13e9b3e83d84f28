"""The road of the exchange table: its two functions that describe an object, called by ctypes."""

from __future__ import annotations

import ctypes as C
from dataclasses import replace
from typing import Any

from dlbridge.tools import abi
from dlbridge.tools.inspection.description import of_contents
from dlbridge.tools.inspection.memory import is_code, looked_at
from dlbridge.tools.inspection.roads import Raised, Road, guarded, timed

# Of dlpack.h 1.2, which held an integer (spec 5.1).
OLD_ATTRIBUTE = "__c_dlpack_exchange_api__"
SLOTS = {
    "give": "managed_tensor_from_py_object_no_sync",
    "lend": "dltensor_from_py_object_no_sync",
}
_Give = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(C.c_void_p))
_Lend = C.PYFUNCTYPE(C.c_int, C.py_object, C.POINTER(abi.Tensor))


def _given(slot: int, x: Any) -> Road:
    """Takes a managed tensor, reads it, and gives it back by its deleter."""

    def call() -> int:
        out = C.c_void_p()
        status = guarded(lambda: _Give(slot)(x, C.byref(out)))
        if status != 0:
            raise Raised(RuntimeError(f"{status} was returned, and no exception set"))
        return out.value or 0

    address = call()
    head = abi.read_memory(address, C.sizeof(abi.ManagedVersioned))
    if head is None:
        return Road("give", "unreadable", f"{address:#x} was given, where nothing can be read")
    struct = abi.ManagedVersioned.from_buffer_copy(head)
    version = (struct.version.major, struct.version.minor)
    try:
        found = looked_at(of_contents(abi.read_struct(address, abi.VERSIONED)))
        road = Road("give", "gave", description=replace(found, capsule=None), version=version)
    except abi.Unreadable as why:
        road = Road("give", "unreadable", str(why), version=version)
    if struct.deleter and is_code(struct.deleter):
        abi.Deleter(struct.deleter)(address)
    return road


def _lent(slot: int, x: Any) -> Road:
    """Has a tensor written into our own struct; it is valid while nothing else happens."""
    managed = abi.Managed()

    def call() -> int:
        return int(guarded(lambda: _Lend(slot)(x, C.byref(managed.tensor))))

    status, seconds = timed(call, lambda status: status == 0)
    if status != 0:
        raise Raised(RuntimeError(f"{status} was returned, and no exception set"))
    contents = abi.read_struct(C.addressof(managed), abi.LEGACY)
    found = replace(of_contents(contents), capsule=None, deleter_is_null=None)
    return Road("lend", "gave", description=looked_at(found), seconds=seconds)


def ask(x: Any) -> list[Road]:
    """Both functions. An object without a table has neither road."""
    both = [("give", _given), ("lend", _lent)]
    try:
        table = guarded(lambda: abi.exchange_table(type(x)))
    except Raised as raised:
        said = str(raised).replace("Unreadable: ", "")
        return [Road(name, "unreadable", said) for name, _ in both]
    if table is None:
        old = guarded(lambda: hasattr(type(x), OLD_ATTRIBUTE))
        said = f"only {OLD_ATTRIBUTE}, of DLPack 1.2" if old else ""
        return [Road(name, "absent", said) for name, _ in both]
    roads = []
    for name, call in both:
        slot = getattr(table, SLOTS[name]) or 0
        if not slot:
            roads.append(Road(name, "absent", f"the table has no {SLOTS[name]}"))
        elif not is_code(slot):
            said = f"{SLOTS[name]} leads to {slot:#x}, which is no code"
            roads.append(Road(name, "unreadable", said))
        else:
            try:
                roads.append(call(slot, x))
            except Raised as raised:
                roads.append(Road(name, "raised", str(raised), raised.type))
    return roads
