# SPDX-License-Identifier: BSD-3-Clause
"""The arrays that producers are examined with: shapes, dtypes, views, and arrays with a past."""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Callable

from ... import abi, clock, devices, dtypes, elements
from .. import journal
from ..outcomes import Skip, name_error
from ..target import USUAL, Target
from .exports import (
    NEWEST,
    Keywords,
    best,
    call_text,
    free,
    has_dlpack,
    make,
    name_in_journal,
    obtain,
    overlap,
)
from .grids import Grid
from .readings import reading_of, shape_of

SHAPES: tuple[tuple[int, ...], ...] = (
    *((), (6,), (1,), (0,), (2, 3), (4, 1), (1, 4), (2, 0, 4)),
    *((2, 3, 4), (2, 1, 3, 2), (4, 2, 3, 2)),
)
# The shapes whose views are examined.
VIEWED: tuple[tuple[int, ...], ...] = ((6,), (4, 6), (2, 3, 4), (4, 2, 3, 2))
# More elements than 16 bits count, and than a library copies in one part; and views of them.
LARGE: tuple[tuple[int, ...], ...] = ((128, 512), (70_000,))
BELOW_A_BYTE = ("int2", "uint2", "int4", "uint4", "float4_e2m1fn", "float4_e2m1fn_x2")
DTYPES: dict[str, dtypes.Triple] = {
    **{name: triple for name, (triple, _) in dtypes.ENCODABLE.items()},
    **{
        row.name: (code, min(row.widths), 1)
        for code, row in dtypes.CODES.items()
        if row.widths and not row.has_bits and min(row.widths) == 8
    },
}
LONGEST = 20.0  # seconds for all arrays, and for what is done with them
Change = Callable[[Any], Any]  # of an array or a Grid to a view of it

# By rank. Each means the same for an array and for a Grid.
VIEWS: dict[int, dict[str, Change]] = {
    1: {
        "x[1:]": lambda x: x[1:],
        "x[::2]": lambda x: x[::2],
        "x[1::2]": lambda x: x[1::2],
        "x[::-1]": lambda x: x[::-1],
        "x[4:1:-2]": lambda x: x[4:1:-2],
        "x[2]": lambda x: x[2],
        "x[2:2]": lambda x: x[2:2],
        "x[1:][::2]": lambda x: x[1:][::2],
        "x[None]": lambda x: x[None],
        "x.reshape((2, 3))": lambda x: x.reshape((2, 3)),
    },
    2: {
        "x[1:]": lambda x: x[1:],
        "x[:, 1:]": lambda x: x[:, 1:],
        "x[:, ::2]": lambda x: x[:, ::2],
        "x[1::2, 1::3]": lambda x: x[1::2, 1::3],
        "x[::-1]": lambda x: x[::-1],
        "x[:, ::-1]": lambda x: x[:, ::-1],
        "x[::-1, ::-2]": lambda x: x[::-1, ::-2],
        "x[1]": lambda x: x[1],
        "x[:, 2]": lambda x: x[:, 2],
        "x[1, 2]": lambda x: x[1, 2],
        "x[1, ...][2, ...]": lambda x: x[1, ...][2, ...],
        "x[2:2]": lambda x: x[2:2],
        "x[1:2, 1:2]": lambda x: x[1:2, 1:2],
        "x[1:][1:, 2:]": lambda x: x[1:][1:, 2:],
        "x.T": lambda x: x.T,
        "x.T[1:]": lambda x: x.T[1:],
        "x[1:, ::2].T": lambda x: x[1:, ::2].T,
        "x.reshape((3, 8))": lambda x: x.reshape((3, 8)),
        "x.T.reshape((24,))": lambda x: x.T.reshape((24,)),
    },
    3: {
        "x[1]": lambda x: x[1],
        "x[:, 1]": lambda x: x[:, 1],
        "x[..., 1]": lambda x: x[..., 1],
        "x[:, ::2, 1:]": lambda x: x[:, ::2, 1:],
        "x[:, ::-1]": lambda x: x[:, ::-1],
        "x.mT": lambda x: x.mT,
        "x.swapaxes(0, 2)": lambda x: x.swapaxes(0, 2),
        "x.transpose(2, 0, 1)": lambda x: x.transpose(2, 0, 1),
        "x.permute(2, 0, 1)": lambda x: x.permute(2, 0, 1),
        "x[:, None]": lambda x: x[:, None],
    },
    4: {
        "x[1:, :, ::2]": lambda x: x[1:, :, ::2],
        "x[..., 1]": lambda x: x[..., 1],
        "x.swapaxes(1, 3)": lambda x: x.swapaxes(1, 3),
    },
}

VIEWS_OF_LARGE: dict[str, Change] = {  # of any rank
    "x[::2]": lambda x: x[::2],
    "x[-64:]": lambda x: x[-64:],
    "x[..., 99:]": lambda x: x[..., 99:],
}


def _library_views(target: Target, rank: int) -> dict[str, tuple[Change, Change]]:
    """Returns the views that the library's row can create: of an array, and of a Grid."""
    row, m = target.library, target.module
    if row is None:
        return {}
    result: dict[str, tuple[Change, Change]] = {}
    for key, text in ((slice(1, None), "1:"), (slice(None, None, 2), "::2")):
        result[f"x[{text}]"] = (
            lambda x, key=key: row.index(m, x, key),  # type: ignore[misc]
            lambda grid, key=key: grid[key],  # type: ignore[misc]
        )
    if rank == 2:
        result["x.T"] = lambda x: row.transpose(m, x), lambda grid: grid.T
    if rank == 1 and row.broadcast is not None:
        broadcast = row.broadcast
        result["x, broadcast to (3, 6)"] = (
            lambda x: broadcast(m, x, (3, 6)),
            lambda grid: grid.broadcast((3, 6)),
        )
    return result


def _other_broadcast(x: Any) -> Any:
    """Broadcasts by the array's own namespace, or by PyTorch's method."""
    if hasattr(x, "__array_namespace__"):
        return x.__array_namespace__().broadcast_to(x, (3, 6))
    return x.expand((3, 6))


def views_of(target: Target, rank: int) -> dict[str, tuple[Change, Change]]:
    """Returns the views of arrays of a rank, by name: of an array, and of a Grid."""
    generic = {name: (change, change) for name, change in VIEWS.get(rank, {}).items()}
    if rank == 1:
        generic["x, broadcast to (3, 6)"] = (
            _other_broadcast,
            lambda grid: grid.broadcast((3, 6)),
        )
    for name, (change, of_grid) in _library_views(target, rank).items():
        own = generic.get(name, (change, of_grid))[0]
        generic[name] = _first_that_works(own, change), of_grid
    return generic


def view_of(x: Any, name: str, change: Change, what: str = "") -> Any:
    """Creates a view of an array, `what` names the array. Raises Excluded, and what x raises."""
    with journal.entry(journal.Call("view", name, subject=what)):
        view = change(x)
    name_in_journal(f"{name}{journal.VIEW}{what or 'the array'}")
    return view


def _first_that_works(one: Change, other: Change) -> Change:
    def change(x: Any) -> Any:
        try:
            return one(x)
        except Exception:
            return other(x)

    return change


# Arrays with what is known of them ---------------------------------------------------------------


@dataclass(frozen=True)
class Array:
    """An array, and what is known of it without asking it."""

    what: str  # "int8 (2, 3)", "x[1:] of float32 (6,)"
    x: Any
    grid: Grid | None  # its shape, and its numbers where they are known
    base: Any = None  # the array that it is a view of
    dtype: str | None = None  # that the factory was asked for
    readonly: bool = False  # it, or its base, must not be written

    @property
    def name(self) -> str:
        """Its name in the journal: those of views do not show that one is empty, or a scalar."""
        shape = (1,) if self.grid is None or self.base is None else self.grid.shape
        return f"{'rank 0: ' if shape == () else 'size 0: ' if 0 in shape else ''}{self.what}"


def _exported(target: Target, arguments: dict[str, Any]) -> Any | None:
    """Calls the factory; None where it raises, or returns something without __dlpack__."""
    try:
        x = target.make(**arguments)
    except Skip:
        return None
    return x if has_dlpack(x) else None


def _base(target: Target, x: Any, shape: tuple[int, ...] | None, dtype: str | None) -> Grid | None:
    """Returns what an array of the factory must hold."""
    try:
        contents = best(x).contents
    except (Skip, Exception):
        contents = None
    if shape is None:
        shape = shape_of(x) or (None if contents is None else contents.shape)
    if shape is None:
        return None
    if target.content is not None and dtype is not None:
        values = target.content(shape, dtype)
        # Nested lists lose the extents that follow a 0.
        return Grid.of(elements.flat(values), elements.shape_of(values))
    code = dtypes.FLOAT if contents is None else contents.dtype[0]
    reading = reading_of(x, shape, code)
    return Grid.of(reading.numbers if reading else None, shape)


def _new(target: Target, **arguments: Any) -> Array | None:
    """Returns an array of the factory, None where it creates none with these arguments."""
    x = _exported(target, arguments)
    if x is None:
        return None
    named = {**USUAL, **arguments}
    journal.subject = target.text_of(**arguments)
    shape = named["shape"] if "shape" in target.accepts else None
    dtype = named["dtype"] if "dtype" in target.accepts else None
    grid = _base(target, x, shape, dtype)
    readonly = bool(named["readonly"]) and "readonly" in target.accepts
    what = target.text_of(**arguments)
    if shape is None and grid is not None:
        what = what.replace("the array", str(grid.shape))
    return Array(what, x, grid, dtype=dtype, readonly=readonly)


def arrays(target: Target) -> Iterator[Array]:
    """Yields arrays of every shape and dtype that the factory creates, and views of them.

    Leaves out what comes after LONGEST, of a library whose every export is slow. Raises Skip where
    nothing that it creates has __dlpack__.
    """
    begin = clock.now()
    for array in _named(_every_array(target)):
        yield array
        if clock.now() - begin > LONGEST:
            return


def _named(found: Iterator[Array]) -> Iterator[Array]:
    """Names each array in the journal while it is examined."""
    try:
        for array in found:
            journal.subject = array.name
            yield array
    finally:
        journal.subject = ""


def _every_array(target: Target) -> Iterator[Array]:
    make(target)
    yield from _plain(target)
    for arguments in _viewed(target):
        base = _new(target, **arguments)
        if base is not None:
            yield from _views_of(target, base)
    if "readonly" in target.accepts:
        yield from _read_only(target)
    yield from _with_a_past(target)


def _plain(target: Target) -> Iterator[Array]:
    shapes: list[dict[str, Any]] = [{}]
    if "shape" in target.accepts:
        shapes = [{"shape": shape} for shape in SHAPES]
    for arguments in (*shapes, *_typed(target)):
        array = _new(target, **arguments)
        if array is not None:
            yield array


def _typed(target: Target) -> list[dict[str, Any]]:
    """Returns the arguments for one array of each dtype."""
    if "dtype" not in target.accepts:
        return []
    some = _some_shape(target)
    return [{"dtype": name, **some} for name in DTYPES]


def _some_shape(target: Target) -> dict[str, Any]:
    """Returns the argument for the first shape that the factory creates exported arrays of."""
    if "shape" not in target.accepts:
        return {}
    for shape in ((2, 3), (6,)):
        if _exported(target, {"shape": shape}) is not None:
            return {"shape": shape}
    return {}


def _viewed(target: Target) -> list[dict[str, Any]]:
    return [{"shape": shape} for shape in VIEWED] if "shape" in target.accepts else [{}]


def large_arrays(target: Target) -> Iterator[Array]:
    """Yields large arrays, and some views of them."""
    yield from _named(_every_large_array(target))


def _every_large_array(target: Target) -> Iterator[Array]:
    for shape in LARGE if "shape" in target.accepts else ():
        array = _new(target, shape=shape)
        if array is not None:
            yield array
            own = views_of(target, len(shape))
            of_rank = {name: (change, change) for name, change in VIEWS_OF_LARGE.items()}
            if "x.T" in own:
                of_rank["x.T"] = own["x.T"]
            yield from _views(array, of_rank)


def _views(base: Array, views: dict[str, tuple[Change, Change]]) -> Iterator[Array]:
    if base.grid is None:
        return
    for name, (change, of_grid) in views.items():
        try:
            x, grid = view_of(base.x, name, change, base.what), of_grid(base.grid)
        except (Skip, Exception):  # it has no such view, or is too small for it
            continue
        if has_dlpack(x):
            yield Array(
                f"{name} of {base.what}", x, grid, base.x, base.dtype, readonly=base.readonly
            )


def _views_of(target: Target, base: Array) -> Iterator[Array]:
    if base.grid is not None:
        yield from _views(base, views_of(target, len(base.grid.shape)))


def _read_only(target: Target) -> Iterator[Array]:
    for arguments in ([{"shape": ()}] if "shape" in target.accepts else []) + _viewed(target):
        base = _new(target, **arguments, readonly=True)
        if base is not None:
            yield base
            yield from _views_of(target, base)
    for arguments in _typed(target):
        array = _new(target, **arguments, readonly=True)
        if array is not None:
            yield array


# What may have happened to an array before it is exported.
EVENTS: tuple[Keywords, ...] = (
    {},
    {"max_version": NEWEST},
    {"copy": True},
    {"max_version": NEWEST, "copy": True},
    {"max_version": NEWEST, "copy": False},
    {"max_version": NEWEST, "dl_device": abi.CPU},
    {"max_version": NEWEST, "dl_device": (devices.VULKAN, 0)},
    {"max_version": (0, 8)},
    {"stream": None},
)


def _with_a_past(target: Target) -> Iterator[Array]:
    for event, consumed in itertools.product(EVENTS, (False, True)):
        array = _new(target)
        if array is None:
            return
        past = call_text(event)
        try:
            item = obtain(array.x, **event)
        except Skip:  # it refused the request, which may have left a trace as well
            if consumed:
                continue
        else:
            if consumed:
                free(abi.take(item.capsule))
                past += ", freed,"
            del item
        yield Array(f"{array.what} after {past}", array.x, array.grid, dtype=array.dtype)
    written = _written(target)
    if written is not None:
        yield written


def _written(target: Target) -> Array | None:
    """Returns an array that was exported and then changed.

    None where it cannot be changed, and where its memory belongs to other arrays too, which would
    change with it. The write may change several elements, as in a broadcast array.
    """
    array = _new(target)
    if array is None or array.grid is None or not array.grid.shape:
        return None
    index = (0,) * len(array.grid.shape)
    try:
        contents = best(array.x).contents
        if overlap(contents, best(make(target)).contents):
            return None
        with journal.entry(journal.Call("view", f"x[{index}]")):
            value = _other_value(array.x[index])
        with journal.entry(journal.Call("view", f"x[{index}] = {value}")):
            array.x[index] = value
            assert array.x[index] == value
    except (Skip, Exception):
        return None
    reading = reading_of(array.x, array.grid.shape, contents.dtype[0])
    changed = Grid.of(reading.numbers if reading else None, array.grid.shape)
    return Array(f"{array.what} after x[{index}] = {value}", array.x, changed, dtype=array.dtype)


def _other_value(element: Any) -> int:
    return 8 if element == 7 else 7


@contextlib.contextmanager
def another_element(x: Any, index: tuple[int, ...]) -> Iterator[None]:
    """Changes one element of an array, and changes it back at the end.

    Raises Skip where the array does not let it be changed.
    """
    try:
        with journal.entry(journal.Call("view", f"copy.deepcopy(x[{index}])")):
            before = copy.deepcopy(x[index])  # some libraries return a view
        value = _other_value(before)
        with journal.entry(journal.Call("view", f"x[{index}] = {value}")):
            x[index] = value
            was_written = bool(x[index] == value)
    except Exception as error:
        raise Skip(f"an element cannot be written: {name_error(error)}") from None
    try:
        if not was_written:
            raise Skip("an element that was written is not the one that is read")
        yield
    finally:
        with contextlib.suppress(Exception):
            x[index] = before
