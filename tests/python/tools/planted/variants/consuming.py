# SPDX-License-Identifier: BSD-3-Clause
"""The variants of consumers: what differs, and the sentence of the standard that permits it.

Where no sentence does, the row says that none forbids it.
"""

from __future__ import annotations

import contextlib
import ctypes as C
import threading
from enum import Enum
from typing import Any

from planted import consumer, library, native
from planted.array import Array, row_major
from planted.native import STRUCTS, Memory, Waiting
from planted.planting import change, instead_of, through, variant

# Requests -----------------------------------------------------------------------------


@variant(
    "array API 2025.12, __dlpack__: This keyword may not be used by consumers until a later time "
    "after introduction"
)
@instead_of(consumer, "keywords")
def asks_for_no_version(original: Any, device: Any, copy: Any) -> Any:
    """max_version is never passed."""
    words = original(device, copy)
    del words["max_version"]
    return words


@variant(
    "array API 2025.12, __dlpack__: This logic is also applicable to handling of the new dl_device "
    "and copy keywords."
)
@instead_of(consumer, "request")
def drops_one_keyword_after_the_other(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """After TypeError, the call is repeated without copy and dl_device, and then without all."""
    try:
        return consumer.call(x, words), True
    except TypeError:
        pass
    try:
        return consumer.call(x, {"max_version": words["max_version"]}), False
    except TypeError:
        return consumer.call(x, {}), False


@variant(
    "array API 2025.12, from_dlpack, copy: If False, the function must never copy, and raise "
    "BufferError in case a copy is deemed necessary"
)
@instead_of(consumer, "from_dlpack")
def copy_false_refused(original: Any, x: Any, /, **keywords: Any) -> Any:
    """copy=False raises BufferError, as the library always owns its memory and copies."""
    if keywords["copy"] is False:
        raise BufferError("the library always copies")
    return original(x, **keywords).copy()


@variant(
    "array API 2025.12, from_dlpack, returns: The returned array may be either a copy or a view.",
    "C-37",
)
@instead_of(consumer, "from_dlpack")
def copies_unless_told_not_to(original: Any, x: Any, /, **keywords: Any) -> Any:
    """copy=None copies, and copy=False shares the memory."""
    array = original(x, **keywords)
    return array if keywords["copy"] is False else array.copy()


@variant(
    "DLPack Python specification: methods on the array object, which will be called from within "
    "from_dlpack, to query what device the array is on"
)
@instead_of(consumer, "call")
def asks_for_the_device_first(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """__dlpack_device__() is called first, and the methods are looked up on the type."""
    if not hasattr(x, "__dlpack__"):
        return original(x, words)
    device_type = type(x).__dlpack_device__(x)[0]
    number = device_type.value if isinstance(device_type, Enum) else device_type
    if number != 1 and "dl_device" not in words:
        raise BufferError(f"expected an array of the CPU; got device type {number}")
    return type(x).__dlpack__(x, **words)


_LEFT_TO_THE_CAPSULE = (
    "DLPack Python specification: set PyCapsule_Destructor that calls the deleter of the "
    'DLManagedTensor when the "dltensor"-named capsule is no longer needed'
)


@variant(_LEFT_TO_THE_CAPSULE)
@instead_of(consumer, "call")
def asks_twice_and_uses_the_second(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """Every import requests two capsules, and drops the first one without consuming it."""
    original(x, words)
    return original(x, words)


@variant(_LEFT_TO_THE_CAPSULE)
@instead_of(consumer, "call")
def asks_twice_and_uses_the_first(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """Every import requests two capsules, and drops the second one without consuming it."""
    capsule = original(x, words)
    original(x, words)
    return capsule


@variant(
    "array API 2025.12, __dlpack__, stream: On CPU and other device types without streams, only "
    "None is accepted."
)
@instead_of(consumer, "keywords")
def passes_stream_none(original: Any, device: Any, copy: Any) -> Any:
    """stream=None is passed explicitly."""
    return {"stream": None, **original(device, copy)}


class NoArray(AttributeError, TypeError):
    pass


@variant(
    "array API 2025.12, from_dlpack, raises AttributeError: If the __dlpack__ and "
    "__dlpack_device__ methods are not present on the input array."
)
@instead_of(consumer, "from_dlpack")
def missing_method_is_a_type_error(original: Any, x: Any, /, **keywords: Any) -> Any:
    """An object without __dlpack__ raises an error that is AttributeError and TypeError."""
    if not hasattr(x, "__dlpack__"):
        raise NoArray(f"{type(x).__name__} has no __dlpack__")
    return original(x, **keywords)


@variant("No sentence forbids it: from_dlpack may accept more than objects with __dlpack__")
@instead_of(consumer, "from_dlpack")
def raw_capsules_accepted(original: Any, x: Any, /, **keywords: Any) -> Any:
    """from_dlpack also accepts a capsule."""
    return consumer.take(x) if isinstance(x, native.capsule_type) else original(x, **keywords)


# Capsules -----------------------------------------------------------------------------


@variant(
    "DLPack Python specification: renaming the capsule to used_dltensor to ensure that "
    "PyCapsule_Destructor will not get called"
)
@instead_of(consumer, "take")
def destructor_cleared(original: Any, capsule: Any) -> Any:
    """The destructor of a consumed capsule is removed."""
    result = original(capsule)
    C.pythonapi.PyCapsule_SetDestructor(C.py_object(capsule), None)
    return result


@variant(_LEFT_TO_THE_CAPSULE)
@instead_of(consumer, "take")
def refused_capsules_stay_fresh(original: Any, capsule: Any) -> Any:
    """A tensor is checked before its capsule is renamed; the capsule frees a refused one."""
    name = consumer.struct_name(capsule)
    address: int = native.capsule_pointer(capsule, name)
    managed = STRUCTS[name].from_address(address)
    array = consumer.read(managed, name, Memory(0, 0))
    if not consumer.use(capsule, name):
        raise BufferError("the capsule was consumed by another thread")
    array.memory = consumer.own(managed, address)
    return array


@variant(
    "DLPack Python specification: the deleter of the DLManagedTensor will be called by the "
    "destructor of the consumer library object created to own the DLManagedTensor"
)
@instead_of(consumer, "take")
def capsule_kept_with_the_result(original: Any, capsule: Any) -> Any:
    """The consumed capsule lives as long as the result."""
    result: Array = original(capsule)
    result.memory.capsule = capsule  # type: ignore[attr-defined]
    return result


class Deferred(Memory):
    def release(self) -> None:
        if self._block:
            thread = threading.Thread(target=Memory.release, args=(self,))
            thread.start()
            thread.join()


@variant(
    "dlpack.h, DLManagedTensor: When the borrowing framework doesn't need the tensor, it should "
    "call the deleter"
)
@instead_of(consumer, "own")
def deleter_on_another_thread(original: Any, managed: Any, address: int) -> Any:
    """The deleter is called by another thread, which the last owner waits for."""
    return Deferred(address, managed.deleter or 0)


@variant("No sentence forbids it: none says how soon the consumer must call the deleter")
@instead_of(consumer, "own")
def dropped_tensors_wait(original: Any, managed: Any, address: Any) -> Any:
    """The last 8 tensors that were dropped wait for their deleter."""
    return Waiting(address, managed.deleter or 0)


# Tensors ------------------------------------------------------------------------------


@variant(
    "array API 2025.12, __dlpack__: A consumer that does not support read-only arrays should "
    "ignore this flag"
)
def no_read_only_arrays() -> None:
    """The library has no read-only arrays, and ignores the flag."""
    whole = library.make

    def make(shape: tuple[int, ...], dtype: str = "float32") -> Array:
        return whole(shape, dtype)

    library.make = make  # type: ignore[assignment]
    change(consumer, "is_read_only", lambda original, managed, is_versioned: False)


_REFUSED = (
    "array API 2025.12, from_dlpack, raises BufferError: when the data cannot be exported as "
    "DLPack (e.g., incompatible dtype, strides, or device)"
)


def _refuse(where: Any) -> None:
    """Raises BufferError where a condition on the imported array holds."""

    def read(original: Any, managed: Any, name: bytes, memory: Memory) -> Any:
        array = original(managed, name, memory)
        if where(array):
            array.memory = Memory(0, 0)
            raise BufferError("the library does not support this tensor")
        return array

    change(consumer, "read", read)


@variant(_REFUSED)
def negative_strides_refused() -> None:
    """Negative strides raise BufferError."""
    _refuse(lambda array: array.size > 0 and min(array.strides, default=0) < 0)


@variant(_REFUSED)
@through(_refuse)
def zero_strides_refused(array: Array) -> bool:
    """A stride of 0 raises BufferError."""
    return array.size > 0 and any(e > 1 and s == 0 for e, s in zip(array.shape, array.strides))


@variant(_REFUSED)
@through(_refuse)
def only_compact_tensors(array: Array) -> bool:
    """Tensors that are not row-major raise BufferError."""
    layout = zip(array.shape, array.strides, row_major(array.shape))
    return array.size > 0 and any(e > 1 and s != c for e, s, c in layout)


@variant(_REFUSED, "C-24")
def only_aligned_tensors() -> None:
    """An address that is no multiple of 64 raises BufferError."""
    _refuse(lambda array: array.data % 64 != 0)


@variant(_REFUSED)
def only_two_element_types() -> None:
    """Element types other than float32 and float64 raise BufferError."""
    _refuse(lambda array: array.dtype not in ("float32", "float64"))


@variant(_REFUSED)
def rank_0_refused() -> None:
    """A tensor without dimensions raises BufferError."""
    _refuse(lambda array: array.ndim == 0)


@variant(
    "dlpack.h, DLTensor.device: The device of the tensor. A machine without a driver has no memory "
    "of its device"
)
def device_left_to_its_driver() -> None:
    """Memory of CUDA is taken, where the machine has no driver that could be asked for it."""
    with contextlib.suppress(OSError):
        C.CDLL("libcuda.so.1")
        return

    def check_device(original: Any, tensor: Any, is_versioned: bool) -> None:
        if tensor.device.type != 2:
            original(tensor, is_versioned)

    change(consumer, "check_device", check_device)


@variant(_REFUSED)
def eight_dimensions_at_most() -> None:
    """More than 8 dimensions raise BufferError."""
    consumer.MOST_DIMENSIONS = 8


@variant(
    "DLPack Python specification 0.7: If an array that is accessed via the interchange protocol "
    "lives on a device that the requesting library does not support, it is recommended to raise a "
    "TypeError.",
    "C-34",
)
@instead_of(consumer, "check_device")
def device_is_a_type_error(original: Any, tensor: Any, is_versioned: bool) -> None:
    """An unsupported device raises TypeError."""
    if tensor.device.type != 1:
        raise TypeError(f"unsupported device type {tensor.device.type}")


@variant("dlpack.h, kDLCUDAHost: Pinned CUDA CPU memory by cudaMallocHost")
@instead_of(consumer, "check_device")
def pinned_memory_is_read(original: Any, tensor: Any, is_versioned: bool) -> None:
    """Pinned memory is read as memory of the host."""
    if tensor.device.type not in (3, 11):
        original(tensor, is_versioned)


class Sealed:
    """Numbers, a shape and a dtype; neither an address nor views, and nothing can be written."""

    __slots__ = ("dtype", "shape", "tolist")

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype, self.tolist = array.shape, array.dtype, array.tolist


@variant("array API 2025.12, from_dlpack, returns: an array containing the data in x.")
def results_without_an_address() -> None:
    """The results share memory, and show no address and no view."""
    change(library, "from_dlpack", lambda original, *a, **k: Sealed(original(*a, **k)))


@variant("array API 2025.12, from_dlpack, returns: an array containing the data in x.")
@instead_of(library, "from_dlpack")
def result_is_a_memoryview(
    original: Any, x: Any, /, *, device: Any = None, copy: Any = None
) -> Any:
    """from_dlpack returns a memoryview, and refuses what memoryview cannot describe."""
    array = original(x, device=device, copy=copy)
    form = array.kind.form
    if form not in tuple("?bBhHiIqQfd") or array.dtype == "bfloat16":
        raise BufferError(f"memoryview has no {array.dtype}")
    if not array.size:
        raise BufferError("memoryview has no extents of 0")
    if array.strides != row_major(array.shape):
        if copy is False:
            raise BufferError("memoryview has no such strides")
        array = array.copy()
    buffer: Any = (C.c_char * array.nbytes).from_address(array.data)
    buffer.array = array
    view: Any = memoryview(buffer).cast("B")
    if array.readonly:
        view = view.toreadonly()
    return view.cast(form, array.shape)
