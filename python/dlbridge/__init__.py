# SPDX-License-Identifier: BSD-3-Clause
"""Exchanges tensors between libraries without copying them, by DLPack.

>>> import dlbridge
>>> x = np.arange(3)             # or an array of PyTorch, JAX, ..., or a raw capsule
>>> t = dlbridge.from_dlpack(x)
>>> y = np.from_dlpack(t)        # the same memory in another library
>>> y.ctypes.data == x.ctypes.data
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dlbridge  # annotations name by it what __getattr__ imports
from dlbridge import _interpreters as _interpreters  # first: it refuses other interpreters
from dlbridge._paths import get_cmake_dir, get_include

try:
    from dlbridge._core import (
        DLPACK_VERSION,
        CopyForbiddenError,
        Tensor,
        __version__,
        as_tensor,
        device,
        dtype,
        empty,
        from_dlpack,
        from_pointer,
        to_dlpack,
    )
    from dlbridge._core import _rebuild as _rebuild  # pickles refer to it by this name
except ImportError as _error:  # dlbridge.tools work without the compiled module
    if _error.name not in ("dlbridge._core", "_core"):  # missing; or the loader refuses it
        raise
    from dlbridge import _missing  # type checkers see the attributes above

    _missing.state(_error)

if TYPE_CHECKING:
    from dlbridge import typing as typing
    from dlbridge.tools.inspection.inspection import Inspection as Inspection
    from dlbridge.tools.inspection.rendering.memory_picture import MemoryPicture as MemoryPicture

__all__ = [
    "DLPACK_VERSION",
    "CopyForbiddenError",
    "Tensor",
    "__version__",
    "as_tensor",
    "device",
    "dtype",
    "empty",
    "from_dlpack",
    "from_pointer",
    "get_cmake_dir",
    "get_include",
    "inspect",
    "show",
    "to_dlpack",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Imports typing and classes on first use; refuses what a missing `_core` lacks."""
        if name == "typing":
            import importlib

            return importlib.import_module("dlbridge.typing")
        if name == "Inspection":
            from dlbridge.tools.inspection.inspection import Inspection

            return Inspection
        if name == "MemoryPicture":
            from dlbridge.tools.inspection.rendering.memory_picture import MemoryPicture

            return MemoryPicture
        if "_missing" in globals():
            return _missing.__getattr__(name)
        raise AttributeError(f"module 'dlbridge' has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*__all__, "Inspection", "MemoryPicture", "typing"])


def inspect(x: Any, *, copy: bool | None = None) -> dlbridge.Inspection:
    """Describes a producer, a buffer or a raw capsule, by every protocol that it implements.

    Nothing is consumed, and the result keeps no reference to x. Exceptions of x are part of the
    result.

    Parameters
    ----------
    x : object
        The producer, the buffer or the capsule.
    copy : bool, optional
        False omits the requests for a copy. True makes them also for more than 16 MiB.

    Returns
    -------
    Inspection
        Print it, or display it in a notebook; to_dict() returns plain values.

    Raises
    ------
    ValueError
        If copy has another value.

    Examples
    --------
    >>> print(dlbridge.inspect(np.zeros((2, 3))))
    numpy.ndarray
    float64[2, 3] on cpu, row-major
    ...
    """
    from dlbridge.tools.inspection.inspection import inspect  # most programs never need it

    return inspect(x, copy=copy)


def show(x: Any) -> dlbridge.MemoryPicture:
    """Draws the memory of a producer, a buffer or a raw capsule: its values, shape and strides.

    Nothing is consumed, and the result keeps no reference to x. Values on a device are not read.

    Parameters
    ----------
    x : object
        The producer, the buffer or the capsule.

    Returns
    -------
    MemoryPicture
        An interactive session and a notebook display it; print it in a script.

    Raises
    ------
    TypeError
        If x has none of the protocols.
    BufferError
        If x exports no tensor.

    Examples
    --------
    >>> dlbridge.show(np.arange(6.0).reshape(2, 3)[::-1])
    numpy.ndarray
    float64[2, 3] on cpu, backwards in dimension 0
    ...
       dim 1 +8    ------>           dim 0 -24
            -24    0     1     2         ^
                  1,0   1,1   1,2        |
              0    3     4     5         |
                 [0,0]  0,1   0,2
      Left: bytes from the data pointer. The first element is in [ ].
      Strides in bytes: -24 in dimension 0, +8 in dimension 1.
    """
    from dlbridge.tools.inspection.rendering.memory_picture import show

    return show(x)
