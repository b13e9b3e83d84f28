"""The compiled half of dlbridge."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Callable, ClassVar, SupportsIndex, final

from dlbridge.typing import CapsuleType, DeviceLike, DTypeLike, StreamLike, SupportsDLPack

__version__: str
"""The version of dlbridge."""
DLPACK_VERSION: tuple[int, int]
"""The version of DLPack that dlbridge was compiled with, (major, minor)."""

class CopyForbiddenError(BufferError, ValueError):
    """copy=False was requested, but the request requires a copy."""

@final
class dtype(str):
    """An element type: a str such as 'float32' with the numbers of DLPack."""

    def __new__(cls, dtype: DTypeLike) -> dtype:
        """Converts a name, a framework's dtype, or a pair or triple (code, bits, lanes).

        Python's int, float and complex are int64, float64 and complex128, and bool is bool.

        Raises ValueError for any other object, and for a dtype that DLPack does not define.
        """
    @property
    def code(self) -> int:
        """The DLDataTypeCode."""
    @property
    def bits(self) -> int:
        """The bits of one scalar; those of a complex number include both parts."""
    @property
    def lanes(self) -> int:
        """The scalars per element; 1 except for vector types."""
    @property
    def itemsize(self) -> int:
        """The bytes of one element, rounded up to whole bytes."""
    @property
    def name(self) -> str:
        """The name, as numpy.dtype.name."""
    @property
    def kind(self) -> str:
        """As numpy.dtype.kind; 'V' for a dtype that NumPy lacks."""
    @property
    def byteorder(self) -> str:
        """As numpy.dtype.byteorder: '=' for this machine's, '|' for elements of a byte."""
    def __eq__(self, other: object, /) -> bool:
        """Compares with a name, the dtype of a library, or int, float, complex or bool."""
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class _Flags(int):
    """The flags of DLPack as an int, with two attributes of ndarray.flags."""

    @property
    def aligned(self) -> bool:
        """Whether the address is a multiple of the alignment of one element."""
    @property
    def writeable(self) -> bool:
        """Whether the memory may be written."""

@final
class device(str):
    """A device: a str such as 'cuda:0' with the numbers of DLPack."""

    def __new__(cls, device: DeviceLike) -> device:
        """Converts a name, a pair (device type, device id), or a framework's device.

        Raises ValueError for any other object, and for a type that DLPack does not define.
        """
    @property
    def type(self) -> str:
        """The kind of memory, such as 'cuda'."""
    @property
    def id(self) -> int:
        """The producer's ordinal of the device."""
    @property
    def code(self) -> int:
        """The DLDeviceType."""

@final
class Tensor:
    """A tensor on memory that another library owns; from_dlpack and as_tensor create it.

    A Tensor keeps the memory alive, describes it, and exports it to any consumer. Indices, slices,
    T, mT, permute, reshape and view give other Tensors on the same memory. It supports no
    arithmetic, and == compares identity.
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """The extents of the dimensions."""
    @property
    def strides(self) -> tuple[int, ...]:
        """The strides in elements; NumPy's strides are in bytes."""
    @property
    def byte_strides(self) -> tuple[int, ...] | None:
        """The strides in bytes; None where elements share bytes."""
    @property
    def ndim(self) -> int:
        """The number of dimensions."""
    @property
    def size(self) -> int:
        """The number of elements."""
    @property
    def itemsize(self) -> int:
        """The bytes of one element, rounded up to whole bytes."""
    @property
    def nbytes(self) -> int:
        """The bytes of all elements of a compact tensor of this shape."""
    @property
    def dtype(self) -> dtype:
        """The element type."""
    @property
    def device(self) -> device:
        """The device whose memory holds the tensor."""
    @property
    def readonly(self) -> bool:
        """Whether the memory must not be written. A legacy capsule cannot state it."""
    @property
    def data_ptr(self) -> int:
        """The address of the first element; on devices without addresses the memory's handle.

        0 for an empty tensor, except on oneAPI.
        """
    @property
    def byte_offset(self) -> int:
        """The bytes from a handle to the first element; 0 where data_ptr is an address."""
    @property
    def flags(self) -> _Flags:
        """The flags of DLPack: 1 read-only, 2 copied, 4 padded sub-byte elements."""
    @property
    def c_contiguous(self) -> bool:
        """Whether the elements are row-major (C order) without gaps."""
    @property
    def f_contiguous(self) -> bool:
        """Whether the elements are column-major (Fortran order) without gaps."""
    @property
    def version(self) -> tuple[int, int] | None:
        """The DLPack version of the imported struct, (major, minor); None for a legacy one."""
    @property
    def T(self) -> Tensor:
        """A view with the dimensions in reverse order, as in NumPy."""
    @property
    def mT(self) -> Tensor:
        """A view with the last two dimensions exchanged.

        Raises AttributeError for a tensor of less than two dimensions, so that hasattr returns
        False.
        """
    def permute(self, *axes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """Returns a view whose dimension i is the dimension axes[i] of this tensor.

        Negative axes count from the end. Raises ValueError if axes is no permutation.
        """
    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """Returns a view with another shape of the same elements in row-major order.

        One extent may be -1. Never copies: raises CopyForbiddenError if the strides allow no such
        view, and ValueError for a shape of another number of elements.
        """
    def view(self, dtype: DTypeLike) -> Tensor:
        """Returns a view of the same bytes as elements of another dtype.

        The last dimension changes by the ratio of the sizes. Never copies: raises
        CopyForbiddenError if its elements are not adjacent, ValueError if they are not a whole
        number of elements of the dtype, and BufferError if the memory is not aligned for it.
        """
    def __len__(self) -> int:
        """The extent of the first dimension; raises TypeError for a 0-d tensor."""
    def __getitem__(self, key: Any, /) -> Tensor:
        """Returns a view, for integers, slices, Ellipsis, None, and tuples of them.

        Raises IndexError for an index out of range, and TypeError for masks, lists and arrays.
        """
    def __iter__(self) -> Iterator[Tensor]:
        """Iterates over the first dimension; raises TypeError for a 0-d tensor."""
    def item(self) -> bool | int | float | complex:
        """Returns the only element.

        Waits for the tensor's stream. Raises ValueError for another number of elements,
        BufferError where the CPU cannot read the memory, and TypeError for a dtype without a
        number of Python.
        """
    def tolist(self) -> Any:
        """Returns the elements as nested lists; the element itself for a 0-d tensor.

        Errors as item.
        """
    def __bool__(self) -> bool:
        """The truth of the only element. Errors as item."""
    def __int__(self) -> int:
        """The only element as an int. Errors as item."""
    def __float__(self) -> float:
        """The only element as a float. Errors as item."""
    def __complex__(self) -> complex:
        """The only element as a complex. Errors as item."""
    def __format__(self, format: str, /) -> str:
        """Formats the element of a 0-d tensor; str(t) without a format.

        Raises TypeError for a format and a tensor that is not 0-d.
        """
    def __index__(self) -> int:
        """The element of a 0-d tensor of integers; raises TypeError for any other tensor."""
    def to(
        self, device: DeviceLike, *, stream: StreamLike = None, copy: bool | None = None
    ) -> Tensor:
        """Returns the tensor on a device, as from_dlpack(t, device=device)."""
    def copy(self) -> Tensor:
        """Returns a writable copy on the same device, as from_dlpack(t, copy=True).

        Of host memory that a driver allocated, the copy is on the CPU where the driver is missing.
        """
    def numpy(self) -> Any:
        """Returns a NumPy array on the same memory.

        Raises BufferError where the CPU cannot read the memory, and where neither NumPy nor
        ml_dtypes has the dtype.
        """
    def ravel(self) -> Tensor:
        """Returns the elements in row-major order in one dimension; copies where no view can."""
    @property
    def ctypes(self) -> Any:
        """np.asarray(t).ctypes, for callers of C functions."""
    def to_numpy(self) -> Any:
        """As numpy(), by the name that matplotlib and others call."""
    def tobytes(self) -> bytes:
        """Returns the bytes of the elements in row-major order.

        Raises BufferError where the CPU cannot read the memory.
        """
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """NumPy's array interface, version 3; absent where the CPU cannot read the memory."""
    @property
    def __numpy_dtype__(self) -> Any:
        """The numpy.dtype of the elements, which NumPy 2.4 and later look up."""
    def _repr_html_(self) -> str:
        """Returns a picture of the memory, for notebooks."""
    def __dlpack__(
        self,
        *,
        stream: StreamLike = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[SupportsIndex | Enum, SupportsIndex] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Exports a capsule, as array API 2023.12 specifies; it keeps the memory alive.

        The capsule is versioned for a max_version from (1, 0) on, and legacy otherwise. Raises
        BufferError for an impossible export (read-only memory in a legacy capsule, another
        device, a copy with copy=False), ValueError for an invalid value, and TypeError for an
        unknown keyword.
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """Returns (device type, device id)."""
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Returns a NumPy array on the same memory, converted or copied on request.

        Raises BufferError where the CPU cannot read the memory, and where NumPy has no such dtype.
        """
    def synchronize(self) -> None:
        """Blocks this thread, without the GIL, until the elements are ready on the host.

        Returns at once for memory of the CPU. Raises RuntimeError where the stream is being
        captured, and where the driver fails; ValueError where the queue of oneAPI is not known.
        """
    def record_stream(self, stream: StreamLike, /) -> None:
        """Keeps the memory until the work that is on the stream when it is dropped has completed.

        For memory of a device that dlbridge allocated: by from_dlpack(device=), to() or empty().
        A stream that is given as an integer must exist as long as the memory. Raises ValueError for
        memory of another library, and for an invalid stream.
        """
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA array interface; absent unless the memory is CUDA's."""
    __dlpack_c_exchange_api__: ClassVar[Any]
    """The exchange table of DLPack 1.3, in a capsule."""
    __dlbridge_tensor__: ClassVar[Any]
    """A capsule by which functions of extensions recognize the class."""
    def __cuda_stream__(self) -> tuple[int, int]:
        """Returns (0, handle) of the tensor's stream; absent unless on CUDA."""
    def __buffer__(self, flags: int, /) -> memoryview:
        """Exports a buffer; raises BufferError for device memory and for other dtypes."""
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Pickles a tensor in host memory; raises TypeError for device memory.

        From protocol 5 on, the elements are an out-of-band buffer.
        """

def from_dlpack(
    x: SupportsDLPack | CapsuleType,
    /,
    *,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    stream: StreamLike = None,
    readonly: bool | None = None,
) -> Tensor:
    """Imports a tensor of any DLPack producer, or of a raw capsule, which is consumed.

    device: the device of the result: a name such as 'cpu' or 'cuda:0', a pair, or a framework's
        device. None leaves the tensor where it is.
    copy: True always copies, False never does, None copies only where it is necessary.
    stream: the stream that will use the tensor: an integer of the protocol, or a stream object.
        Ignored on the CPU.
    readonly: True sets the read-only flag of the result; False clears it, and the caller guarantees
        that the memory is not written. None preserves the producer's flag.

    The result shares the memory of x, and keeps it alive, unless it is a copy.

    Raises TypeError for an object that is no producer, BufferError for a tensor that cannot be
    imported, CopyForbiddenError where copy=False is impossible, and ValueError for an invalid
    value. Exceptions of the producer are passed on unchanged; that of a refused move or copy is
    the cause of the exception that states why dlbridge does not make it.
    """

def as_tensor(
    x: Any,
    /,
    *,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    stream: StreamLike = None,
    readonly: bool | None = None,
) -> Tensor:
    """Imports a tensor of an object with any supported protocol.

    The protocols are, in this order: DLPack, the buffer protocol, __array_interface__ and
    __cuda_array_interface__. Arguments, ownership and errors are those of from_dlpack.
    """

def to_dlpack(
    x: Any,
    /,
    *,
    max_version: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> CapsuleType:
    """Exports x as a raw capsule, for consumers that accept no producers.

    The capsule is legacy, or versioned for a max_version from (1, 0) on. It can be consumed once;
    otherwise its destructor frees the tensor. Raises BufferError for read-only memory in a legacy
    capsule, and the errors of from_dlpack.
    """

def from_pointer(
    ptr: Any,
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: DTypeLike,
    *,
    strides: Sequence[SupportsIndex] | None = None,
    device: DeviceLike | None = "cpu",
    stream: StreamLike = None,
    owner: object = None,
    readonly: bool = False,
) -> Tensor:
    """Creates a Tensor on memory whose address the caller has.

    ptr: the address of the first element: an integer, a ctypes.c_void_p, or an object with
        __int__, such as an allocation of PyCUDA. On devices without addresses, the handle.
    strides: in elements, not in bytes; None for a row-major tensor.
    device: the device of the memory.
    stream: the stream on which the elements are ready; None for the default stream of the device.
    owner: an object that keeps the memory alive, to which the Tensor and its consumers hold a
        reference. None: the caller keeps the memory alive as long as they exist.

    Raises ValueError for an invalid value: a null or misaligned pointer, a negative extent, a size
    beyond the address space, another device than the driver reports.
    """

def empty(
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: DTypeLike,
    *,
    device: DeviceLike | None = "cpu",
    pinned: bool = False,
) -> Tensor:
    """Creates a row-major Tensor in new memory, whose elements are not initialized.

    device: a device of CUDA or ROCm, or 'cpu', where the memory is aligned to 64 bytes.
    pinned: whether memory of the host is pinned, so that devices access it directly.

    Raises ValueError for an invalid value, MemoryError, and RuntimeError where the driver of the
    device is missing or fails.
    """

def _rebuild(
    buffer: Any, dtype: str, shape: tuple[int, ...], order: str, readonly: bool, flags: int, /
) -> Tensor:
    """Restores a pickled tensor."""

def _drivers() -> dict[str, dict[str, Any]]:
    """Describes the drivers of CUDA and ROCm and their devices, or why there are none."""

def _vector(size: int, on_free: Callable[[], object]) -> Tensor:
    """Creates a Tensor on a std::vector<float>, with a function to call when it is freed."""
