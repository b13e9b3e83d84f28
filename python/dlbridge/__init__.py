"""Carries tensors over library borders without copying them, by DLPack.

>>> import dlbridge
>>> t = dlbridge.from_dlpack(x)      # x: an array of NumPy, PyTorch, JAX, ... or a raw capsule
>>> y = np.from_dlpack(t)            # and on to any other library, at the same address
"""

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
    "to_dlpack",
]
