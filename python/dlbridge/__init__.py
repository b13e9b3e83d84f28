"""Exchanges tensors between libraries without copying them, by DLPack.

>>> import dlbridge
>>> t = dlbridge.from_dlpack(x)      # x: an array of NumPy, PyTorch, JAX, ... or a raw capsule
>>> y = np.from_dlpack(t)            # the same memory in another library
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
        from_dlpack,
        to_dlpack,
    )
    from dlbridge._core import _rebuild as _rebuild  # pickles refer to it by this name
except ModuleNotFoundError as error:  # dlbridge.tools work without the compiled module
    if error.name != "dlbridge._core":
        raise
    if not TYPE_CHECKING:  # type checkers see the attributes above
        from dlbridge._missing import __getattr__ as __getattr__

if TYPE_CHECKING:
    from dlbridge.tools.inspection.inspection import Inspection

__all__ = [
    "DLPACK_VERSION",
    "CopyForbiddenError",
    "Tensor",
    "__version__",
    "as_tensor",
    "device",
    "dtype",
    "from_dlpack",
    "get_cmake_dir",
    "get_include",
    "inspect",
    "to_dlpack",
]


def inspect(x: Any, *, copy: bool | None = None) -> Inspection:
    """Describes a producer, a buffer or a raw capsule, by every protocol that it implements.

    Nothing is consumed, and the result keeps no reference to x. Print the result, or display it in
    a notebook; to_dict() returns plain values. copy=False omits the requests for a copy; copy=True
    makes them also for more than 16 MiB. Exceptions of x are part of the result.
    """
    from dlbridge.tools.inspection.inspection import inspect  # most programs never need it

    return inspect(x, copy=copy)
