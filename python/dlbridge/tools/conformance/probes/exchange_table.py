# SPDX-License-Identifier: BSD-3-Clause
"""The probes of the exchange table of a type, S-03 and S-17 to S-20."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

from ... import abi, devices
from ..helpers.arrays import view_of
from ..helpers.consumption import short, summed_up, wait_until
from ..helpers.exports import best, content, make
from ..helpers.producers import VERSION, Producer
from ..helpers.results import values_in
from ..judgement import protocols
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

_int = ctypes.c_int
_From = ctypes.PYFUNCTYPE(_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))
_To = ctypes.PYFUNCTYPE(_int, ctypes.c_void_p, ctypes.POINTER(ctypes.c_void_p))
_View = ctypes.PYFUNCTYPE(_int, ctypes.py_object, ctypes.c_void_p)
_Stream = ctypes.PYFUNCTYPE(_int, ctypes.c_int32, ctypes.c_int32, ctypes.POINTER(ctypes.c_void_p))
MAY_BE_NULL = "dltensor_from_py_object_no_sync"
UNWRITTEN = 0x5EED  # the initial value of an output argument


def _table(target: Target) -> abi.Exchange:
    x = make(target)
    try:
        table = abi.exchange_table(type(x))
    except abi.Unreadable as why:
        raise Broken(str(why)) from None
    if table is None:
        raise Skip(f"{type(x).__name__} has no exchange table")
    return table


def _readable_table(target: Target) -> abi.Exchange:
    """Returns the table. Raises Skip where S-03 is broken."""
    try:
        return _table(target)
    except Broken as broken:
        raise Skip(f"the exchange table cannot be read: {broken.got}") from None


@probe("S-03")
def slots_are_filled(target: Target) -> str:
    table = _table(target)
    empty = [
        name for name in abi.EXCHANGE_SLOTS if not getattr(table, name) and name != MAY_BE_NULL
    ]
    if empty:
        raise Broken(f"NULL: {', '.join(empty)}")
    return f"version {table.header.version.major}.{table.header.version.minor}"


# S-17: exports -----------------------------------------------------------------------------------


def _other_elements(one: abi.Contents, other: abi.Contents) -> str | None:
    return protocols.other_elements(one, other, content(one), content(other))


ARRAYS: tuple[dict[str, Any], ...] = (
    {},
    {"shape": (5,)},
    {"shape": ()},
    {"shape": (2, 0)},
    {"shape": (2, 3, 4)},
    *({"dtype": name} for name in ("int8", "uint8", "int64", "float16", "float64", "bool")),
    *({"dtype": name} for name in ("complex64", "bfloat16")),
    {"readonly": True},
)


VIEWS: dict[str, Callable[[Any], Any]] = {"x[1:]": lambda x: x[1:], "x.T": lambda x: x.T}


def arrays(target: Target) -> Iterator[tuple[str, Any]]:
    """Creates arrays of several shapes and dtypes, and views, as far as the library has them."""
    for fields in ARRAYS:
        try:
            x = make(target, **fields)
        except Skip:
            continue
        yield ", ".join(f"{name}={it!r}" for name, it in fields.items()) or "a plain array", x
        if fields:
            continue
        for name, way in VIEWS.items():
            try:
                view = view_of(x, name, way)
                best(view)
            except (Skip, Exception):
                continue
            yield name, view


@probe("S-17", hostile=True)
def exports_agree_with_the_method(target: Target) -> str:
    table, wrong, count, refused = _readable_table(target), [], 0, ""
    function = _From(table.managed_tensor_from_py_object_no_sync)
    for name, x in arrays(target):
        out = ctypes.c_void_p()
        try:
            by_method = best(x)
        except (Skip, BufferError):
            continue
        try:
            status = function(x, ctypes.byref(out))
        except Exception as error:
            refused = f"; {name}: refused: {name_error(error)}"
            continue
        if status != 0 or not out.value:
            wrong.append(f"{name}: the table returned {status} and {out.value} without exception")
            continue
        tensor = abi.OwnedTensor(abi.read_struct(out.value, abi.VERSIONED))
        try:
            how = _other_elements(tensor.contents, by_method.contents)
        finally:
            tensor.free()
        count += 1
        if how is not None:
            wrong.append(f"{name}: by the table and by __dlpack__ the {how}")
    if wrong:
        raise Broken(summed_up(wrong))
    return f"{count} arrays agree{refused}"


@probe("S-17", hostile=True)
def views_agree_with_the_method(target: Target) -> str:
    table, wrong, count, refused = _readable_table(target), [], 0, ""
    if not table.dltensor_from_py_object_no_sync:
        raise Skip("dltensor_from_py_object_no_sync is NULL, which is allowed")
    function = _View(table.dltensor_from_py_object_no_sync)
    for name, x in arrays(target):
        managed = abi.ManagedVersioned()
        managed.version.major = 1
        try:
            by_method = best(x)
        except (Skip, BufferError):
            continue
        place = ctypes.addressof(managed) + abi.ManagedVersioned.tensor.offset
        try:
            status = function(x, place)
        except Exception as error:  # a DLTensor has no flag for read-only memory, for one
            refused = f"; {name}: refused: {name_error(error)}"
            continue
        if status != 0:
            wrong.append(f"{name}: the table returned {status} without exception")
            continue
        viewed = abi.read_struct(ctypes.addressof(managed), abi.VERSIONED)
        how = _other_elements(viewed, by_method.contents)
        count += 1
        if how is not None:
            wrong.append(f"{name}: by the table's view and by __dlpack__ the {how}")
    if wrong:
        raise Broken(summed_up(wrong))
    return f"{count} views agree{refused}"


# S-18 and S-19: imports --------------------------------------------------------------------------


class _Import:
    """A call of managed_tensor_to_py_object_no_sync, which takes ownership of the struct."""

    def __init__(self, target: Target, **fields: Any) -> None:
        table = _readable_table(target)
        self.producer = Producer(**fields)
        capsule = self.producer.export(VERSION)
        address = self.producer.tensors[0].address
        abi.rename(capsule, abi.USED[abi.VERSIONED])  # the function takes the struct
        out = ctypes.c_void_p()
        self.result: Any = None
        try:
            self.status = _To(table.managed_tensor_to_py_object_no_sync)(address, ctypes.byref(out))
        except Exception as error:
            self.status, self.error_text = -1, name_error(error)
            return
        self.error_text = "no exception"
        if self.status == 0 and out.value:
            self.result = ctypes.cast(out, ctypes.py_object).value
            ctypes.pythonapi.Py_DecRef(ctypes.py_object(self.result))  # it was returned as owned


@probe("S-18", hostile=True)
def import_refuses_major_2(target: Target) -> str:
    call = _Import(target, version=(2, 0))
    if call.status == 0:
        raise Broken("managed_tensor_to_py_object_no_sync takes a tensor of major version 2")
    return f"refused: {call.error_text}"


@probe("S-19", hostile=True)
def import_honours_the_offset(target: Target) -> str:
    wrong, right, refused = [], 0, ""
    layouts: tuple[dict[str, Any], ...] = (
        {},
        {"strides": (1, 2)},
        {"shape": (), "strides": ()},
        {"shape": (3,), "strides": (2,)},
    )
    for fields in layouts:
        for offset in (4, 16, 64):
            call = _Import(target, byte_offset=offset, **fields)
            if call.status != 0:
                refused = f"; refused: {call.error_text}"
                continue
            values = values_in(best(call.result).contents)
            expected = call.producer.values
            right += values == expected
            if values != expected:
                wrong.append(f"byte_offset of {offset}, {fields or 'a plain tensor'}: expected"
                             f" {short(repr(expected))}; got {short(repr(values))}")  # fmt: skip
            call.result = None
            if not wait_until(lambda: call.producer.deleter_calls == 1):  # noqa: B023 - at once
                wrong.append(f"{call.producer.deleter_calls} calls of the deleter")
    if wrong:
        raise Broken(summed_up(wrong))
    return f"{right} right{refused}"


# S-20: streams -----------------------------------------------------------------------------------


def _stream_of(target: Target, device_type: int) -> int | None:
    """Returns the table's current stream for device 0 of a type; None where it refuses."""
    table = _readable_table(target)
    out = ctypes.c_void_p(UNWRITTEN)
    try:
        status = _Stream(table.current_work_stream)(device_type, 0, ctypes.byref(out))
    except Exception:
        return None
    return (out.value or 0) if status == 0 else None


@probe("S-20", hostile=True)
def stream_of_the_cpu(target: Target) -> str:
    stream = _stream_of(target, devices.CPU)
    if stream is None:
        return "refused"
    if stream == UNWRITTEN:
        raise Broken("current_work_stream of the CPU returns 0 and writes nothing")
    if stream:
        raise Broken(f"current_work_stream of the CPU returns {stream:#x}")
    return "NULL"
