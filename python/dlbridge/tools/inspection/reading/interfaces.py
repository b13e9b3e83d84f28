# SPDX-License-Identifier: BSD-3-Clause
"""The other protocols: the buffer protocol and the two array interfaces."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from typing import Any

from ... import abi, buffers, dtypes
from ...conformance.helpers.readings import MASKED
from .description import Description
from .memory import with_memory
from .protocols import INTERFACES, Raised, Response, guarded, timed

# Type codes by the letters of struct and of NumPy; other letters have no dtype here.
_CODES = {
    letter: code
    for code in (dtypes.INT, dtypes.UINT, dtypes.FLOAT)
    for letter in dtypes.CODES[code].formats.values()
}
_CODES.update(l=dtypes.INT, n=dtypes.INT, L=dtypes.UINT, N=dtypes.UINT)
_COMPLEX = {"Zf", "Zd", "F", "D"}


def _buffer_dtype(text: str, itemsize: int) -> tuple[int, int, int] | None:
    order, letter = (text[0], text[1:]) if text[:1] in "@=<>!" else ("@", text)
    if (order in ">!") != (sys.byteorder == "big") and order in "<>!" and itemsize > 1:
        return None
    if letter == "?":
        return (dtypes.BOOL, 8 * itemsize, 1)
    if letter in _COMPLEX:
        return (dtypes.COMPLEX, 8 * itemsize, 1)
    return (_CODES[letter], 8 * itemsize, 1) if letter in _CODES else None


def _elements(byte_strides: tuple[int, ...] | None, itemsize: int) -> tuple[int, ...] | None:
    if byte_strides is None or not itemsize or any(step % itemsize for step in byte_strides):
        return None
    return tuple(step // itemsize for step in byte_strides)


def _described(view: buffers.View) -> Description:
    text = (view.format or b"B").decode(errors="replace")
    shape = tuple(view.shape[: view.ndim]) if view.ndim and view.shape else ()
    strides = tuple(view.strides[: view.ndim]) if view.ndim and view.strides else None
    return Description(
        data=view.buf or 0,
        byte_offset=0,
        device=abi.CPU,
        dtype=_buffer_dtype(text, view.itemsize),
        ndim=view.ndim,
        shape=shape,
        strides=_elements(strides, view.itemsize) if view.ndim else (),
        byte_strides=strides if view.ndim else (),
        strides_is_null=not view.strides,
        read_only=bool(view.readonly),
        format=text,
        item_bytes=view.itemsize,
    )


def examine_buffer(x: Any) -> Response:
    """Requests a full view, describes it, and releases it."""
    if not guarded(lambda: buffers.offered(x)):
        return Response("buffer", "absent")
    view, seconds = timed(lambda: buffers.get(x), lambda _: False)
    try:
        if view.suboffsets:
            return Response("buffer", "unreadable", "it has suboffsets: its rows are pointers")
        description = with_memory(_described(view))
    finally:
        buffers.release(view)
    return Response("buffer", "gave", description=description, seconds=seconds)


def _is_integers(x: Any) -> bool:
    return isinstance(x, (tuple, list)) and all(isinstance(each, int) for each in x)


def _interface_dtype(text: str) -> tuple[tuple[int, int, int] | None, int]:
    """Returns the dtype of a typestr, or None, and the bytes of one element; 0 if unknown."""
    order, kind = text[:1], text[1:2]
    digits = re.match("[0-9]*", text[2:])
    size = int(digits[0]) if digits and digits[0] else 0
    if kind == "U":
        size *= 4  # a typestr counts characters
    elif kind == "t":
        size = 0  # it counts bits
    foreign = order == (">" if sys.byteorder == "little" else "<") and size > 1
    code = dtypes.code_of_kind(kind)
    widths = (dtypes.CODES[code].widths or ()) if code is not None else ()
    if foreign or 8 * size not in widths or 8 * size > 255:  # bits of DLPack are 8 bits wide
        return None, size  # also for float8_e5m2 of ml_dtypes, which is "f1"
    assert code is not None
    return (code, 8 * size, 1), size


def _address(data: Any, x: Any, offset: Any) -> tuple[int, bool] | None:
    """The address that an array interface states, and whether it is read-only.

    Version 3 also permits an object with the buffer protocol, or none, for the buffer of x.
    """
    if isinstance(data, (tuple, list)):
        return (data[0], bool(data[1])) if len(data) == 2 and isinstance(data[0], int) else None
    if not isinstance(offset, int):
        return None
    try:
        view = buffers.get(x if data is None else data)
    except Exception:  # any type of x
        return None
    try:
        return (view.buf or 0) + offset, bool(view.readonly)
    finally:
        buffers.release(view)


def _interface(name: str, x: Any, interface: Any) -> Response:
    def unreadable(what: str) -> Response:
        return Response(name, "unreadable", what)

    if not isinstance(interface, dict):
        return unreadable(f"expected a dictionary; got {type(interface).__name__}")
    shape, text, strides = (
        interface.get("shape"),
        interface.get("typestr"),
        interface.get("strides"),
    )
    data = interface.get("data")
    given = (
        None
        if name != "array" and not isinstance(data, (tuple, list))
        else _address(data, x, interface.get("offset") or 0)
    )
    if not isinstance(shape, (tuple, list)) or not _is_integers(shape):
        return unreadable("expected 'shape' to be a tuple of integers")
    if not isinstance(text, str):
        return unreadable("expected 'typestr' to be a text")
    if given is None:
        return unreadable(
            "expected 'data' to be an address and a read-only mark"
            + (", or to have the buffer protocol" if name == "array" else "")
        )
    if strides is not None and not (_is_integers(strides) and len(strides) == len(shape)):
        return unreadable("expected 'strides' to be as many integers as 'shape'")
    dtype, size = _interface_dtype(text)
    steps = None if strides is None else tuple(strides)
    description = Description(
        data=given[0],
        byte_offset=0,
        device=abi.CPU if name == "array" else None,
        dtype=dtype,
        ndim=len(shape),
        shape=tuple(shape),
        strides=_elements(steps, size) if shape else (),
        byte_strides=steps if shape else (),
        strides_is_null=strides is None,
        read_only=given[1],
        format=text,
        item_bytes=size,
    )
    said = MASKED if interface.get("mask") is not None else ""
    return Response(name, "gave", said, description=with_memory(description))


def examine_interface(x: Any, name: str) -> Response:
    """Reads one of INTERFACES."""
    try:
        interface, seconds = timed(lambda: getattr(x, INTERFACES[name]), lambda _: True)
    except Raised as error:
        if error.type == "AttributeError":
            return Response(name, "absent")
        raise
    return replace(_interface(name, x, interface), seconds=seconds)
