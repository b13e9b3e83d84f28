# SPDX-License-Identifier: BSD-3-Clause
"""The object under inspection: its type, its methods, and its properties outside DLPack."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable

from ... import abi
from ...libraries import immutable_by
from ...marks import by_dlbridge, is_column, read_only_marks, type_name
from .protocols import quietly

DUNDERS = ("__dlpack__", "__dlpack_device__")
# Properties of PyTorch's tensors that DLPack cannot express.
TORCH_MARKS: dict[str, Callable[[Any], Any]] = {
    "negated": lambda x: x.is_neg(),
    "conjugated": lambda x: x.is_conj(),
    "requires_grad": lambda x: x.requires_grad,
}

# The roads of marks.py that describe memory, which may be that of a copy.
ROADS = {
    "the buffer protocol": "buffer",
    "__array_interface__": "array",
    "__cuda_array_interface__": "cuda array",
}


@dataclass(frozen=True)
class Subject:
    """Properties of the object that need no export."""

    type: str
    is_capsule: bool = False
    is_class: bool = False  # as where the parentheses of a call were forgotten
    on_type: tuple[str, ...] = ()  # those of DUNDERS that its type defines
    on_instance: tuple[str, ...] = ()  # those that only the instance has
    marks: tuple[str, ...] = ()  # those of TORCH_MARKS that are set
    own_shape: tuple[int, ...] | None = None  # its attribute `shape`
    own_dtype: str = ""  # its attribute `dtype`, or `data_type()`
    # Whether it is read-only, by each road on which it tells; see tools/marks.py.
    own_marks: Mapping[str, bool] = field(default_factory=dict)
    immutable: str = ""  # the title of its library, where that promises never to change it
    # What dlbridge makes of it: "writable", "read-only" or the exception; "" where not examined. Of
    # a column, what as_tensor makes of it.
    by_dlbridge: str = ""

    @property
    def as_tensor(self) -> str:
        """What to pass in place of a column, or why as_tensor refuses it; "" for other objects."""
        if not self.by_dlbridge or self.on_type or self.on_instance:
            return ""
        if self.by_dlbridge in ("writable", "read-only"):
            return "pass dlbridge.as_tensor(x), which exports it without a copy"
        return f"dlbridge.as_tensor(x) refuses it: {self.by_dlbridge}"


def _has(where: Any, name: str) -> bool:
    return bool(quietly(lambda: hasattr(where, name), True))  # where it raises, it is there


def _is_torch(x: Any) -> bool:
    return any(k.__module__ == "torch" and k.__name__ == "Tensor" for k in type(x).__mro__)


def _marks(x: Any) -> tuple[str, ...]:
    return tuple(name for name, read in TORCH_MARKS.items() if read(x)) if _is_torch(x) else ()


def _own_shape(x: Any) -> tuple[int, ...] | None:
    shape = getattr(x, "shape", None)
    if isinstance(shape, (tuple, list)) and all(type(n) is int for n in shape):
        return tuple(shape)
    return None


def _own_dtype(x: Any) -> str:
    if hasattr(x, "dtype"):
        text = str(x.dtype)
    elif hasattr(x, "data_type"):
        text = str(x.data_type())
    else:
        text = ""
    return text if len(text) < 60 else ""


def is_class(x: Any) -> bool:
    """Whether an object is a class, and no producer itself by its metaclass."""
    # isinstance would read __class__, which a proxy may raise from.
    return issubclass(type(x), type) and not any(_has(type(x), name) for name in DUNDERS)


def describe(x: Any) -> Subject:
    """Describes an object; properties that raise are left out."""
    if is_class(x):
        return Subject(type=quietly(lambda: type_name(x), "object"), is_class=True)
    capsule = abi.is_capsule(x)
    type_ = quietly(lambda: type_name(type(x)), "object")
    library = immutable_by(type_)
    is_known = (
        library is not None or type_ == "numpy.ndarray" or quietly(lambda: is_column(x), False)
    )
    on_type = tuple(name for name in DUNDERS if _has(type(x), name))
    return Subject(
        type=type_,
        is_capsule=capsule,
        on_type=on_type,
        on_instance=tuple(n for n in DUNDERS if n not in on_type and _has(x, n)),
        marks=quietly(lambda: _marks(x), ()),
        own_shape=quietly(lambda: _own_shape(x)),
        own_dtype=quietly(lambda: _own_dtype(x), ""),
        own_marks=quietly(lambda: read_only_marks(x), {}),
        immutable=library.title if library else "",
        by_dlbridge=quietly(lambda: by_dlbridge(x), "") if is_known else "",
    )
