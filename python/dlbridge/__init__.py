"""Carries tensors over library borders without copying them, by DLPack.

>>> import dlbridge
>>> t = dlbridge.from_dlpack(x)      # x: an array of NumPy, PyTorch, JAX, ... or a raw capsule
>>> y = np.from_dlpack(t)            # and on to any other library, at the same address
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
from dlbridge._core import _rebuild as _rebuild  # pickles name it here
from dlbridge._paths import get_cmake_dir, get_include

if TYPE_CHECKING:
    from dlbridge.tools.inspection.looking import Inspection

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
    """Everything that a producer, a buffer or a raw capsule says of itself, by every road it has.

    Nothing is consumed, and nothing of x is kept. Print what is returned, or show it in a notebook;
    its to_dict() is for programs. copy=False leaves out the roads on which x copies its memory,
    copy=True takes them also where that is more than 16 MiB. What x raises is told, not raised.
    """
    from dlbridge.tools.inspection.looking import look  # only now: most programs never need it

    return look(x, copy=copy)
