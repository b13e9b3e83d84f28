# SPDX-License-Identifier: BSD-3-Clause
"""The module of tests/fakes/foreign_module.c: a DLPack producer and consumer without dlbridge."""

from collections.abc import Iterable
from typing import Any, Callable, Literal, NamedTuple, TypedDict, overload

Dims = tuple[int, ...] | int | None
"""Integers, a raw address, or a null pointer."""

class Call(NamedTuple):
    """The state in which a deleter was called."""

    gil: bool
    pending: bool
    thread: int

class Handle:
    """The producer's side of one tensor, which may export it more than once."""

    @property
    def calls(self) -> int:
        """Deleter calls so far."""
    @property
    def handed_out(self) -> int:
        """Capsules so far; each requires one deleter call."""
    @property
    def log(self) -> list[Call]:
        """The first eight deleter calls."""
    @property
    def address(self) -> int:
        """The address of 64 float32: 0, 1, 2, ..., or the bytes of fill=."""
    def snapshot(self) -> bytes:
        """All bytes that a consumer can write to."""
    def capsule(
        self,
        versioned: bool = False,
        *,
        name: bytes | None = ...,
        destructor: Literal["spec", "blind", "clears"] = "spec",
    ) -> object:
        """A capsule. Its destructor follows the specification ("spec"), frees a tensor of any name
        ("blind"), or clears the pending exception ("clears")."""

def tensor(
    *,
    shape: Dims = (2, 3),
    strides: Dims = ...,
    ndim: int = ...,
    data: int | None = ...,
    byte_offset: int = 0,
    dtype: tuple[int, int, int] = (2, 32, 1),
    device: tuple[int, int] = (1, 0),
    version: tuple[int, int] = (1, 0),
    flags: int = 0,
    deleter: bool = True,
    fill: bytes = ...,
) -> Handle:
    """float32[2, 3] on the CPU, row-major with explicit strides, except for the arguments."""

class Consumed:
    """The consumer's side: owns the tensor of a capsule."""

    @property
    def name(self) -> str: ...
    @property
    def version(self) -> tuple[int, int] | None: ...
    @property
    def flags(self) -> int | None: ...
    @property
    def ndim(self) -> int: ...
    @property
    def shape(self) -> tuple[int, ...] | None: ...
    @property
    def strides(self) -> tuple[int, ...] | None: ...
    @property
    def data(self) -> int: ...
    @property
    def byte_offset(self) -> int: ...
    @property
    def dtype(self) -> tuple[int, int, int]: ...
    @property
    def device(self) -> tuple[int, int]: ...
    @property
    def has_deleter(self) -> bool: ...
    def tobytes(self) -> bytes:
        """The elements in row-major order, read by strides and byte offset."""
    def write(self, data: bytes, /) -> None:
        """Overwrites the first bytes of the memory."""
    def release(self, how: Literal["here", "nogil", "thread", "pending"] = "here") -> bool:
        """Calls the deleter: with the GIL, without it, from a C thread without it, or with an
        exception pending. Returns False if that exception is lost."""
    def keep_until_exit(self) -> None:
        """Calls the deleter from C's atexit, after the end of the interpreter."""

def consume(capsule: object, /) -> Consumed:
    """Consumes a capsule as the specification requires."""

def release_in_background(tensors: list[Consumed], /) -> None:
    """Calls the deleters in a C thread without the GIL, and does not wait for it."""

def survives_drop(make: Callable[[], object], /) -> bool:
    """Whether a pending exception survives the destruction of the result of make()."""

class Buffer(TypedDict):
    data: int
    len: int
    itemsize: int
    readonly: bool
    ndim: int
    format: str | None
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    suboffsets: bool | None
    owned: bool
    contiguous: tuple[int, int, int]

def buffer(exporter: Any, flags: int, /) -> Buffer:
    """The Py_buffer that a C consumer gets; contiguous is for C, F and any order."""

def accounts() -> tuple[int, int]:
    """Exported managed tensors, and deleter calls, since the module was loaded."""

def trap() -> int:
    """The address of a page without read access."""

Slot = Literal["allocate", "give", "take", "lend", "stream"]

class Exported:
    """An object with a tensor. A class of it with `__dlpack_c_exchange_api__` has a table."""

    def __init__(self, handle: Handle, /) -> None: ...

def exchange_table(
    *,
    version: tuple[int, int] = (1, 3),
    prev: int = 0,
    missing: Iterable[Slot] = (),
    failing: Iterable[Slot] = (),
) -> int:
    """The address of a table for classes of Exported, which is never freed. Its `take` returns
    Consumed objects."""

def exchange_capsule(table: int, /) -> object:
    """The address in a capsule, as in dlpack.h 1.3."""

def set_work_stream(handle: int, /) -> None:
    """Sets the stream that all these tables state for every device; 0 restores theirs."""

def slot_calls() -> dict[Slot, int]:
    """The number of calls of each slot, of all these tables."""

class Lent(TypedDict):
    data: int
    shape: tuple[int, ...] | None
    strides: tuple[int, ...] | None
    dtype: tuple[int, int, int]
    device: tuple[int, int]
    byte_offset: int

@overload
def slot(type: type, name: Literal["version"], /) -> tuple[int, int, bool | None]:
    """Calls a slot of the table of a type, in C. After a failed `take` the Consumed still owns the
    tensor."""

@overload
def slot(
    type: type,
    name: Literal["allocate"],
    shape: tuple[int, ...],
    dtype: tuple[int, int, int],
    device: tuple[int, int],
    /,
) -> Consumed: ...
@overload
def slot(type: type, name: Literal["give"], object: object, /) -> Consumed: ...
@overload
def slot(type: type, name: Literal["take"], tensor: Consumed, /) -> Any: ...
@overload
def slot(type: type, name: Literal["lend"], object: object, /) -> Any: ...  # Lent, or a list of it
@overload
def slot(type: type, name: Literal["stream"], device_type: int, device_id: int, /) -> int: ...
