# SPDX-License-Identifier: BSD-3-Clause
"""A tensor as one protocol describes it, and the properties that follow from the description."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ... import abi, devices, dtypes
from ...conformance.helpers.readings import decode
from ...elements import row_major
from .layout import Layout

FLAGS = {
    abi.READ_ONLY: "read-only",
    abi.IS_COPIED: "copied",
    abi.SUBBYTE_PADDED: "padded",
}
TRANSIENT = ("raw", "contents")  # fields of the comparisons
MOST_ALIGNED = 4096  # larger powers of two are not reported


def tuples_of(values: dict[str, Any]) -> dict[str, Any]:
    """Converts lists, which JSON has in place of tuples, back to tuples."""
    return {name: tuple(x) if isinstance(x, list) else x for name, x in values.items()}


def flag_names(flags: int) -> list[str]:
    names = [name for bit, name in FLAGS.items() if flags & bit]
    unknown = flags & ~sum(FLAGS)
    return [*names, f"unknown {unknown:#x}"] if unknown else names


@dataclass(frozen=True)
class Description:
    """A tensor as one protocol describes it. None stands for a field that the protocol lacks."""

    data: int  # 0 for NULL
    byte_offset: int
    device: tuple[int, int] | None
    dtype: tuple[int, int, int] | None
    ndim: int
    shape: tuple[int, ...] | None  # None: NULL or not readable, or ndim is out of range
    strides: tuple[int, ...] | None  # in elements, as stored
    byte_strides: tuple[int, ...] | None = None  # as stored, for protocols that count bytes
    shape_is_null: bool = False
    strides_is_null: bool = False
    shape_is_readable: bool = True
    read_only: bool | None = None
    flags: int | None = None  # of a versioned struct
    version: tuple[int, int] | None = None
    capsule: str | None = None  # its name
    deleter_is_null: bool | None = None
    format: str | None = None  # of the buffer protocol or an array interface
    item_bytes: int = 0  # of one element, by these; 0 where they do not state it
    readable: bool | None = None  # whether the memory is readable; None: not examined
    sample: tuple[str, ...] = ()  # the first values, by offset and strides
    sample_at_data: tuple[str, ...] = ()  # with an offset: the first values without it
    # For the comparisons that are made at once; they are not part of JSON.
    raw: bytes | None = field(default=None, compare=False, repr=False)  # that elements.py chooses
    contents: abi.Contents | None = field(default=None, compare=False, repr=False)

    # Derived properties -----------------------------------------------------------------------

    @property
    def first(self) -> int:
        """The address of the first element (spec 1.6)."""
        return self.data + self.byte_offset

    @property
    def numbers(self) -> tuple[Any, ...]:
        """The numbers of the elements in `raw`."""
        return (decode(self.raw, self.dtype) or ()) if self.raw and self.dtype else ()

    @property
    def is_sound(self) -> bool:
        """Whether the shape is readable and has no negative extent."""
        return self.shape is not None and all(n >= 0 for n in self.shape)

    @cached_property
    def layout(self) -> Layout | None:
        """The layout; None where the shape is invalid or strides are no multiples of an element."""
        if self.shape is None or not self.is_sound:
            return None
        if self.strides is not None:
            return Layout(self.shape, self.strides)
        return Layout(self.shape, row_major(self.shape)) if self.strides_is_null else None

    @property
    def element_bits(self) -> int:
        """The bits of one element; 0 where the size is unknown."""
        return self.dtype[1] * self.dtype[2] if self.dtype else 8 * self.item_bytes

    @property
    def element_bytes(self) -> int:
        """The size of one element: bits and lanes, rounded up to bytes (spec 1.5)."""
        return (self.element_bits + 7) // 8

    @property
    def is_packed(self) -> bool:
        """Whether elements share bytes (spec 1.5)."""
        padded = (self.flags or 0) & abi.SUBBYTE_PADDED
        return bool(self.element_bits % 8) and not padded

    @property
    def stride_bytes(self) -> tuple[int, ...] | None:
        """The strides in bytes; None where elements share bytes, or their size is unknown, or the
        strides are."""
        if self.byte_strides is not None:
            return self.byte_strides
        if self.layout is None or self.is_packed or not self.element_bits:
            return None
        return tuple(step * self.element_bytes for step in self.layout.strides)

    @property
    def is_host(self) -> bool:
        return self.device is not None and self.device[0] in devices.HOST

    @property
    def is_address(self) -> bool:
        """Whether `data` is an address, to which an offset may be added."""
        return self.device is None or self.device[0] in devices.ADDRESSES

    @property
    def alignment(self) -> int:
        """The largest power of two that divides the address of the first element; 0 for NULL."""
        if not self.first or not self.is_address:
            return 0
        return min(self.first & -self.first, MOST_ALIGNED)

    @property
    def memory(self) -> tuple[int, int] | None:
        """The addresses that the elements span, the end excluded."""
        if self.layout is None or not self.is_address or not self.element_bits:
            return None
        if self.layout.size == 0:
            return None
        lowest, highest = self.layout.reach
        if self.is_packed:
            bits = self.element_bits
            return (self.first + lowest * bits // 8, self.first - (-(highest + 1) * bits // 8))
        size = self.element_bytes
        return (self.first + lowest * size, self.first + (highest + 1) * size)

    @property
    def dtype_text(self) -> str:
        if self.dtype is None:
            return f"format {self.format!r}" if self.format else "no dtype"
        return dtypes.name(self.dtype)

    @property
    def device_text(self) -> str:
        return "an unspecified device" if self.device is None else devices.name(self.device)

    @property
    def text(self) -> str:
        """The tensor in one line: float32[2, 3] on cpu."""
        extents = "?" if self.shape is None else ", ".join(map(str, self.shape))
        return f"{self.dtype_text}[{extents}] on {self.device_text}"

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values; from_dict() ignores the derived properties."""
        values = dataclasses.asdict(self)
        for name in TRANSIENT:
            del values[name]
        memory = self.memory
        derived = {
            "first_element": self.first,
            "dtype_name": self.dtype_text,
            "device_name": self.device_text,
            "flag_names": None if self.flags is None else flag_names(self.flags),
            "alignment": self.alignment,
            "element_bytes": self.element_bytes,
            "stride_bytes": self.stride_bytes,
            "memory": memory,
        }
        if self.layout is not None:
            derived.update(
                size=self.layout.size,
                order=self.layout.order,
                row_major=self.layout.is_row_major(),
                row_major_strictly=self.layout.is_row_major(strict=True),
                column_major=self.layout.is_column_major(),
                column_major_strictly=self.layout.is_column_major(strict=True),
                elements_share_memory=self.layout.shares,
            )
        return {**values, "derived": derived}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Description:
        return cls(**tuples_of({k: v for k, v in values.items() if k != "derived"}))


def of_contents(contents: abi.Contents) -> Description:
    """Describes a managed tensor."""
    return Description(
        data=contents.data,
        byte_offset=contents.byte_offset,
        device=contents.device,
        dtype=contents.dtype,
        ndim=contents.ndim,
        shape=contents.shape,
        strides=contents.strides,
        shape_is_null=contents.shape_is_null,
        strides_is_null=contents.strides_is_null,
        shape_is_readable=contents.shape_is_readable,
        read_only=None if contents.version is None else bool(contents.flags & abi.READ_ONLY),
        flags=None if contents.version is None else contents.flags,
        version=contents.version,
        capsule=contents.name,
        deleter_is_null=not contents.deleter,
        contents=contents,
    )
