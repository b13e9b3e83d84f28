# SPDX-License-Identifier: BSD-3-Clause
"""The flags of a Tensor: those of DLPack as an int, with the names of numpy.ndarray.flags."""

from __future__ import annotations

from typing import Any, Callable

# The bits of ndarray.flags.num that an array on the memory of a Tensor may have.
ROWS, COLUMNS, ALIGNED, WRITABLE = 0x1, 0x2, 0x100, 0x400
BEHAVED = ALIGNED | WRITABLE

# Each attribute, the keys that mean the same, and its value for the bits. The array owns no memory.
NAMES: dict[str, tuple[str, Callable[[int], bool]]] = {
    "c_contiguous": ("C C_CONTIGUOUS CONTIGUOUS", lambda num: bool(num & ROWS)),
    "contiguous": ("", lambda num: bool(num & ROWS)),
    "f_contiguous": ("F F_CONTIGUOUS FORTRAN", lambda num: bool(num & COLUMNS)),
    "fortran": ("", lambda num: bool(num & COLUMNS)),
    "owndata": ("O OWNDATA", lambda num: False),
    "writeable": ("W WRITEABLE", lambda num: bool(num & WRITABLE)),
    "aligned": ("A ALIGNED", lambda num: bool(num & ALIGNED)),
    "writebackifcopy": ("X WRITEBACKIFCOPY", lambda num: False),
    "fnc": ("FNC", lambda num: num & (ROWS | COLUMNS) == COLUMNS),
    "forc": ("FORC", lambda num: bool(num & (ROWS | COLUMNS))),
    "behaved": ("B BEHAVED", lambda num: num & BEHAVED == BEHAVED),
    "carray": ("CA CARRAY", lambda num: num & (BEHAVED | ROWS) == BEHAVED | ROWS),
    # As NumPy computes it, although its name promises all of these bits.
    "farray": ("FA FARRAY", lambda num: bool(num & (BEHAVED | COLUMNS)) and not num & ROWS),
}


class flags(int):
    """The flags of DLPack as an int, with the names of NumPy's."""

    __module__ = "dlbridge"
    _num: int

    def __new__(cls, value: int, num: int) -> flags:
        self = super().__new__(cls, value)
        self._num = num
        return self

    def __getitem__(self, key: str) -> bool:
        for keys, value_of in NAMES.values():
            if key in keys.split():
                return value_of(self._num)
        raise KeyError(f"ndarray.flags has no key {key!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles as an int."""
        return int, (int(self),)


def attribute(value_of: Callable[[int], int]) -> property:
    return property(lambda self: value_of(self._num), doc="As in numpy.ndarray.flags.")


for name, (_, value_of) in NAMES.items():
    setattr(flags, name, attribute(value_of))
flags.num = attribute(int)  # type: ignore[attr-defined]
