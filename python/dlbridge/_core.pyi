"""The compiled half of dlbridge."""

from typing import Any, Callable, SupportsIndex, final

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

    A Tensor keeps the memory alive, describes it, and exports it to any consumer. It supports no
    indexing and no arithmetic.
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
        """Whether the memory must not be written; always False for a legacy capsule."""
    @property
    def data_ptr(self) -> int:
        """The address of the first element; on devices without addresses the memory's handle.

        0 for an empty tensor.
        """
    @property
    def byte_offset(self) -> int:
        """The bytes from a handle to the first element; 0 where data_ptr is an address."""
    @property
    def flags(self) -> int:
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
    def __dlpack__(
        self,
        *,
        stream: StreamLike = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[SupportsIndex, SupportsIndex] | None = None,
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
        captured, and where the driver fails.
        """
    def record_stream(self, stream: StreamLike, /) -> None:
        """Keeps the memory until the work that is on the stream when it is dropped has completed.

        For a Tensor that from_dlpack(x, device=...) returned. A stream that is given as an integer
        must exist as long as the memory. Raises ValueError for memory of another library, and for
        an invalid stream.
        """
    @property
    def __cuda_stream__(self) -> Callable[[], tuple[int, int]]:
        """Returns (0, handle) of the tensor's stream when called; absent unless on CUDA."""
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
    readonly: True marks the result read-only; False removes the mark, and the caller guarantees
        that the memory is not written. None preserves the producer's mark.

    The result shares the memory of x, and keeps it alive, unless it is a copy.

    Raises TypeError for an object that is no producer, BufferError for a tensor that cannot be
    imported, CopyForbiddenError where copy=False is impossible, and ValueError for an invalid
    value. Exceptions of the producer are passed on unchanged.
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

def _rebuild(
    buffer: Any, dtype: str, shape: tuple[int, ...], order: str, readonly: bool, flags: int, /
) -> Tensor:
    """Restores a pickled tensor."""

def _drivers() -> dict[str, dict[str, Any]]:
    """Describes the drivers of CUDA and ROCm and their devices, or why there are none."""

def _vector(size: int, on_free: Callable[[], object]) -> Tensor:
    """Creates a Tensor on a std::vector<float>, with a function to call when it is freed."""
