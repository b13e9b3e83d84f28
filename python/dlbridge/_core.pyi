# SPDX-License-Identifier: BSD-3-Clause
"""The compiled module of dlbridge."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any, Callable, ClassVar, SupportsIndex, final

from dlbridge.typing import CapsuleType, DeviceLike, DTypeLike, StreamLike, SupportsDLPack

__version__: str
"""The version of dlbridge."""
DLPACK_VERSION: tuple[int, int]
"""The version of DLPack that dlbridge was compiled with, (major, minor)."""

class CopyForbiddenError(BufferError, ValueError):
    """Raised if the result needs a copy that the caller forbade (copy=False), or that
    the method never makes (reshape, view).
    """

@final
class dtype(str):
    """The type of an element: a str such as 'float32', with its code, bits and lanes.

    Parameters
    ----------
    dtype : str, framework's dtype, type, or tuple of int
        A name, a dtype of NumPy or another framework, (code, bits, lanes), or Python's
        bool, int, float or complex: bool, int64, float64 or complex128.

    Raises
    ------
    ValueError
        If `dtype` is anything else.

    Examples
    --------
    >>> t = dlbridge.dtype(np.dtype("float32"))
    >>> t == "float32", t.bits, t.itemsize
    (True, 32, 4)
    """

    def __new__(cls, dtype: DTypeLike) -> dtype: ...
    @property
    def code(self) -> int:
        """The DLDataTypeCode."""
    @property
    def bits(self) -> int:
        """Bits of one scalar; those of a complex number include both parts."""
    @property
    def lanes(self) -> int:
        """Scalars per element; 1 except for vector types."""
    @property
    def itemsize(self) -> int:
        """Bytes of one element, rounded up to whole bytes."""
    @property
    def name(self) -> str:
        """The name, as numpy.dtype.name."""
    @property
    def kind(self) -> str:
        """As numpy.dtype.kind; 'V' for a dtype that NumPy lacks."""
    @property
    def byteorder(self) -> str:
        """As numpy.dtype.byteorder: '=' for this machine's, '|' for elements of a byte."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class _Flags(int):
    """The flags of DLPack as an int, with the names of NumPy's."""

    @property
    def c_contiguous(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def contiguous(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def f_contiguous(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def fortran(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def owndata(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def writeable(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def aligned(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def writebackifcopy(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def fnc(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def forc(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def behaved(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def carray(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def farray(self) -> bool:
        """As in numpy.ndarray.flags."""
    @property
    def num(self) -> int:
        """As in numpy.ndarray.flags."""
    def __getitem__(self, key: str, /) -> bool: ...

@final
class device(str):
    """The device of a tensor: a str such as 'cuda:0', with its type and id.

    Parameters
    ----------
    device : str, tuple of int, or framework's device
        A name, a pair (device type, device id), or a device of PyTorch or JAX.

    Raises
    ------
    ValueError
        If `device` is anything else.

    Examples
    --------
    >>> dlbridge.device((2, 1)) == "cuda:1"
    True
    """

    def __new__(cls, device: DeviceLike) -> device: ...
    @property
    def type(self) -> str:
        """The device type by name, such as 'cuda'."""
    @property
    def id(self) -> int:
        """The ordinal of the device, as the producer counts."""
    @property
    def code(self) -> int:
        """The DLDeviceType."""
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

@final
class Tensor:
    """A tensor on memory of another library, or of dlbridge.

    from_dlpack, as_tensor, from_pointer and empty return it. A Tensor describes
    the memory, keeps it alive and exports it: np.from_dlpack(t), np.asarray(t),
    memoryview(t). Indices (integers, slices, Ellipsis and None), T, mT, permute,
    reshape and view give Tensors on the same memory. It has no arithmetic. Two
    Tensors are equal if they are the same object; == with a number is a TypeError.
    Several threads may use a Tensor at the same time.

    Examples
    --------
    >>> t = dlbridge.from_dlpack(np.arange(6.0).reshape(2, 3))
    >>> t
    <dlbridge.Tensor float64[2, 3] on cpu, row-major: [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]>
    >>> t[1, ::2].tolist()
    [3.0, 5.0]
    >>> np.from_dlpack(t).ctypes.data == t.data_ptr
    True
    """

    @property
    def shape(self) -> tuple[int, ...]:
        """Tuple of the extents."""
    @property
    def strides(self) -> tuple[int, ...]:
        """Tuple of the strides in elements. NumPy's strides are in bytes: byte_strides."""
    @property
    def byte_strides(self) -> tuple[int, ...] | None:
        """Tuple of the strides in bytes; None for packed sub-byte elements."""
    @property
    def ndim(self) -> int:
        """Number of dimensions."""
    @property
    def size(self) -> int:
        """Number of elements."""
    @property
    def itemsize(self) -> int:
        """Bytes of one element, rounded up to whole bytes."""
    @property
    def nbytes(self) -> int:
        """Bytes of all elements in compact form."""
    @property
    def dtype(self) -> dtype:
        """Type of the elements, a dlbridge.dtype."""
    @property
    def device(self) -> device:
        """Device of the memory, a dlbridge.device."""
    @property
    def readonly(self) -> bool:
        """Whether the memory must not be written.

        Memory of a legacy producer counts as writable, as its struct has no flag.
        """
    @property
    def data_ptr(self) -> int:
        """Address of the first element as an int; 0 for an empty tensor, except on oneAPI.

        On devices without addresses, the handle of the memory.
        """
    @property
    def byte_offset(self) -> int:
        """Bytes from a handle to the first element; 0 where data_ptr is an address."""
    @property
    def flags(self) -> _Flags:
        """Sum of the DLPack flags: 1 read-only, 2 copied, 4 padded sub-byte elements. The int
        also has the attributes and keys of numpy.ndarray.flags, such as flags['C_CONTIGUOUS'].
        """
    @property
    def c_contiguous(self) -> bool:
        """Whether the elements are row-major (C order) and compact."""
    @property
    def f_contiguous(self) -> bool:
        """Whether the elements are column-major (Fortran order) and compact."""
    @property
    def version(self) -> tuple[int, int] | None:
        """DLPack version (major, minor) of the struct, dlbridge's for a view; None if legacy."""
    @property
    def T(self) -> Tensor:
        """View with the dimensions in reverse order, as in NumPy."""
    @property
    def mT(self) -> Tensor:
        """View with the last two dimensions exchanged.

        Raises AttributeError below two dimensions, so that hasattr returns False.
        """
    def permute(self, *axes: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """Return a view whose dimension i is the dimension axes[i] of this tensor.

        Parameters
        ----------
        *axes : int, or one tuple of int
            Each axis once; negative ones count from the end.

        Returns
        -------
        Tensor
            A view on the same memory.

        Raises
        ------
        ValueError
            If axes is no permutation.

        Examples
        --------
        >>> dlbridge.empty((2, 3, 4), "int8").permute(2, 0, 1).shape
        (4, 2, 3)
        """
    def reshape(self, *shape: SupportsIndex | Sequence[SupportsIndex]) -> Tensor:
        """Return a view with another shape of the same elements in row-major order. Never copies.

        Parameters
        ----------
        *shape : int, or one tuple of int
            The extents, of which one may be -1.

        Returns
        -------
        Tensor
            A view on the same memory.

        Raises
        ------
        CopyForbiddenError
            If the strides allow no such view.
        ValueError
            If the shape has another number of elements.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.arange(6)).reshape(2, -1).tolist()
        [[0, 1, 2], [3, 4, 5]]
        """
    def view(self, dtype: DTypeLike) -> Tensor:
        """Return a view of the same bytes as elements of another dtype. Never copies.

        The last dimension changes by the ratio of the sizes.

        Parameters
        ----------
        dtype : str, framework's dtype, or tuple of int
            As for dlbridge.dtype.

        Returns
        -------
        Tensor
            A view on the same memory.

        Raises
        ------
        CopyForbiddenError
            If the elements of the last dimension are not adjacent, or not aligned for the dtype.
        ValueError
            If they are not a whole number of elements of the dtype.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.array([1.0], "float32")).view("int32").tolist()
        [1065353216]
        """
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __hash__(self) -> int: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any, /) -> Tensor: ...
    def __iter__(self) -> Iterator[Tensor]: ...
    def item(self) -> bool | int | float | complex:
        """Return the only element as a Python bool, int, float or complex.

        Waits for the tensor's stream.

        Returns
        -------
        bool, int, float or complex

        Raises
        ------
        ValueError
            If the tensor has another number of elements.
        BufferError
            If the CPU cannot read the memory.
        TypeError
            If Python has no such number.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.array([[5]])).item()
        5
        """
    def tolist(self) -> Any:
        """Return the elements as nested lists; the element itself for a 0-d tensor.

        Returns
        -------
        list, or bool, int, float or complex

        Raises
        ------
        BufferError
            If the CPU cannot read the memory.
        TypeError
            If Python has no such number.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.eye(2)).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
        """
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __complex__(self) -> complex:
        """Return the only element as a complex. Errors as item."""
    def __format__(self, format: str, /) -> str:
        """Format the element of a 0-d tensor; str(t) without a format.

        Parameters
        ----------
        format : str
            A format of Python for the element, such as '.2f'.

        Raises
        ------
        TypeError
            If the tensor is not 0-d, and format is not empty.
        """
    def __index__(self) -> int: ...
    def to(
        self, device: DeviceLike, *, stream: StreamLike = None, copy: bool | None = None
    ) -> Tensor:
        """Return the tensor on a device, as dlbridge.from_dlpack(t, device=device).

        Shares the memory if the tensor is there already, unless copy is True. Parameters and
        errors are those of from_dlpack.

        Parameters
        ----------
        device : str, tuple of int, or framework's device
            The device of the result.
        stream, copy
            As for from_dlpack.

        Returns
        -------
        Tensor

        Examples
        --------
        >>> t = dlbridge.from_dlpack(np.zeros(3))
        >>> t.to("cpu").data_ptr == t.data_ptr
        True
        """
    def copy(self) -> Tensor:
        """Return a writable copy on the same device, as dlbridge.from_dlpack(t, copy=True).

        Of host memory that a driver allocated, the copy is on the CPU where the driver is
        missing.

        Returns
        -------
        Tensor
            A tensor in new memory.

        Raises
        ------
        BufferError
            If dlbridge cannot copy memory of this device.
        RuntimeError
            If the driver of the device is missing or fails.

        Examples
        --------
        >>> t = dlbridge.as_tensor(b"abc")
        >>> t.readonly, t.copy().readonly
        (True, False)
        """
    def numpy(self) -> Any:
        """Return a NumPy array on the same memory, as np.asarray.

        Returns
        -------
        numpy.ndarray
            An array that keeps the memory alive.

        Raises
        ------
        BufferError
            If the CPU cannot read the memory, or neither NumPy nor ml_dtypes has the dtype.

        Examples
        --------
        >>> dlbridge.as_tensor(bytearray(b"abc")).numpy()
        array([97, 98, 99], dtype=uint8)
        """
    def ravel(self) -> Tensor:
        """Return the elements in row-major order in one dimension; copies where no view can.

        Returns
        -------
        Tensor
            A view, or a copy.

        Raises
        ------
        Exception
            As copy.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.array([[1, 2], [3, 4]])).T.ravel().tolist()
        [1, 3, 2, 4]
        """
    @property
    def ctypes(self) -> Any:
        """np.asarray(t).ctypes, for callers of C functions."""
    def to_numpy(self) -> Any:
        """As numpy(), by the name that matplotlib and others call."""
    def tobytes(self) -> bytes:
        """Return the bytes of the elements in row-major order.

        Returns
        -------
        bytes

        Raises
        ------
        BufferError
            If the CPU cannot read the memory.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.array([97, 98], "uint8")).tobytes()
        b'ab'
        """
    @property
    def __array_interface__(self) -> dict[str, Any]:
        """Version 3 of NumPy's array interface; absent unless the CPU can read the memory."""
    @property
    def __numpy_dtype__(self) -> Any:
        """The numpy.dtype of the elements, which NumPy 2.4 and later look up.

        Absent where NumPy has none.
        """
    def _repr_html_(self) -> str:
        """Return a picture of the memory, for notebooks."""
    def __dlpack__(
        self,
        *,
        stream: StreamLike = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[SupportsIndex | Enum, SupportsIndex] | None = None,
        copy: bool | None = None,
    ) -> CapsuleType:
        """Return a capsule with this tensor, as the array API 2023.12 specifies.

        Parameters
        ----------
        stream : int or object, optional
            The stream of the consumer, which is ordered after the tensor's own. By default the
            default stream of the device; -1 for no order.
        max_version : tuple of int, optional
            The highest DLPack version that the consumer supports. The struct is versioned from
            (1, 0) on, else legacy.
        dl_device : tuple of int, optional
            The device of the result. By default the device of the tensor.
        copy : bool, optional
            True for a copy, False to forbid one. By default only a change of device may copy.

        Returns
        -------
        capsule
            A PyCapsule, which keeps the memory alive on its own.

        Raises
        ------
        BufferError
            If the tensor cannot be exported as requested: read-only memory as a legacy struct, or
            a device to which it cannot be copied.
        CopyForbiddenError
            If `copy` is False and a copy is required.
        ValueError
            If an argument has an invalid value.
        TypeError
            If a keyword is unknown.
        RuntimeError
            If the driver of a device is missing or fails.

        Examples
        --------
        >>> dlbridge.from_dlpack(np.zeros(3)).__dlpack__(max_version=(1, 0))
        <capsule object "dltensor_versioned" at ...>
        """
    def __dlpack_device__(self) -> tuple[int, int]:
        """Return the device as a pair (device type, device id) of int.

        Examples
        --------
        >>> dlbridge.empty(3, "int8").__dlpack_device__()
        (1, 0)
        """
    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """Return a NumPy array on the same memory.

        Parameters
        ----------
        dtype : numpy.dtype, optional
            The dtype to which the elements are converted.
        copy : bool, optional
            As for numpy.array.

        Returns
        -------
        numpy.ndarray

        Raises
        ------
        BufferError
            If the CPU cannot read the memory, or neither NumPy nor ml_dtypes has the dtype.

        Examples
        --------
        >>> np.asarray(dlbridge.as_tensor(b"abc"), dtype="float32")
        array([97., 98., 99.], dtype=float32)
        """
    def synchronize(self) -> None:
        """Block this thread until the elements are ready.

        Waits for the work on the tensor's stream, with the GIL released. Returns at once for
        memory of the CPU. Buffers, __array__, bool() and pickling wait on their own.

        Raises
        ------
        RuntimeError
            If the stream is being captured, or the driver fails.
        ValueError
            If the queue of a tensor on oneAPI is not known.

        Examples
        --------
        >>> dlbridge.empty(3, "int8").synchronize()  # on a device: waits
        """
    def record_stream(self, stream: StreamLike, /) -> None:
        """Keep the memory until the work that is on a stream when it is dropped has completed.

        For memory of a device that dlbridge allocated, and a stream on which the caller
        uses its elements.

        Parameters
        ----------
        stream : int or object
            As for from_dlpack. A stream that is given as an integer must exist as long as the
            memory.

        Raises
        ------
        ValueError
            If the memory belongs to another library, or stream has an invalid value.

        Examples
        --------
        >>> t = dlbridge.empty(3, "int8", device="cuda")  # doctest: +SKIP
        >>> t.record_stream(torch.cuda.current_stream())  # doctest: +SKIP
        """
    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """Version 3 of the CUDA Array Interface; absent unless the memory is CUDA's."""
    __dlpack_c_exchange_api__: ClassVar[Any]
    """The exchange table of DLPack 1.3, in a capsule."""
    __dlbridge_tensor__: ClassVar[Any]
    """A capsule by which functions of extensions recognize the class."""
    def __cuda_stream__(self) -> tuple[int, int]:
        """Return (0, handle) of the stream on which the elements are ready.

        The protocol of cuda.core; absent unless the memory is CUDA's.
        """
    def __buffer__(self, flags: int, /) -> memoryview: ...
    def __reduce_ex__(self, protocol: SupportsIndex, /) -> tuple[Any, ...]:
        """Support pickle for tensors in host memory.

        From protocol 5 on the bytes are an out-of-band buffer. The tensor is copied only if
        it is not compact.

        Raises
        ------
        TypeError
            If the CPU cannot read the memory.
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
    """Return a Tensor on the memory of a DLPack producer.

    The Tensor keeps the memory alive. The elements are copied only if `device` or `copy`
    requires it.

    Parameters
    ----------
    x : object with __dlpack__, or a capsule
        The producer. A capsule is consumed.
    device : str, tuple of int, or framework's device, optional
        The device of the result, such as 'cpu', 'cuda:0' or (2, 0). By default that of x.
    copy : bool, optional
        True for a copy, False to forbid one. By default only where it is necessary.
    stream : int or object, optional
        The stream on which the caller will use the tensor: the protocol's integer, or an
        object with __cuda_stream__, cuda_stream, ptr or handle. By default the default stream
        of the device. Not used on the CPU.
    readonly : bool, optional
        True sets the read-only flag, which a legacy producer cannot set. False clears it: the
        caller guarantees that no code writes to the memory. By default that of the producer.

    Returns
    -------
    Tensor
        A tensor on the memory of x, or on a copy.

    Raises
    ------
    TypeError
        If x is no DLPack producer and no capsule.
    BufferError
        If the tensor cannot be imported.
    CopyForbiddenError
        If `copy` is False and a copy cannot be excluded.
    ValueError
        If an argument has an invalid value, or the capsule has been consumed.
    RuntimeError
        If the driver of a device is missing or fails.
    Exception
        That of the producer, unchanged; if it refused a move or a copy, as the cause of the
        exception that states why dlbridge makes none.

    Examples
    --------
    >>> x = np.arange(3)
    >>> t = dlbridge.from_dlpack(x)
    >>> t.data_ptr == x.ctypes.data
    True
    >>> dlbridge.from_dlpack(x, copy=True).data_ptr == x.ctypes.data
    False
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
    """Return a Tensor on the memory of an array.

    As from_dlpack, by the first of these protocols that x supports: DLPack, the buffer
    protocol, __array_interface__, __cuda_array_interface__, Arrow's PyCapsule interface. That
    serves a column of integers or floats in one chunk, without nulls, as a read-only Tensor.

    Parameters
    ----------
    x : object
        The producer.
    device, copy, stream, readonly
        As for from_dlpack.

    Returns
    -------
    Tensor
        A tensor on the memory of x, or on a copy.

    Raises
    ------
    TypeError
        If x supports none of these protocols.
    Exception
        As from_dlpack.

    Examples
    --------
    >>> dlbridge.as_tensor(memoryview(b"abc"))
    <dlbridge.Tensor uint8[3] on cpu, row-major, read-only: [97, 98, 99]>
    """

def to_dlpack(
    x: Any,
    /,
    *,
    max_version: tuple[int, int] | None = None,
    copy: bool | None = None,
) -> CapsuleType:
    """Return a raw capsule, for a consumer that accepts no producer, such as TensorFlow.

    The capsule can be consumed once. Otherwise its destructor frees the tensor.

    Parameters
    ----------
    x : object
        The producer, as for as_tensor.
    max_version : tuple of int, optional
        The highest DLPack version that the consumer supports. The struct is versioned from
        (1, 0) on, else legacy.
    copy : bool, optional
        True for a copy, False to forbid one.

    Returns
    -------
    capsule
        A PyCapsule with the tensor.

    Raises
    ------
    BufferError
        If x is read-only and the struct is legacy.
    Exception
        As as_tensor.

    Examples
    --------
    >>> capsule = dlbridge.to_dlpack(np.arange(3))
    >>> dlbridge.from_dlpack(capsule).tolist()
    [0, 1, 2]
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
    """Return a Tensor on memory whose address the caller has.

    The caller guarantees that the memory holds these elements, as long as the Tensor and
    everything that shares it exist.

    Parameters
    ----------
    ptr : int or object
        The address of the first element: an integer, a ctypes.c_void_p, or an object with
        __int__, such as an allocation of PyCUDA. On devices without addresses, the handle.
    shape : int or tuple of int
        The extents.
    dtype : str, framework's dtype, or tuple of int
        As for dlbridge.dtype.
    strides : tuple of int, optional
        In elements, not in bytes. By default those of a row-major tensor.
    device : str, tuple of int, or framework's device, optional
        The device of the memory, 'cpu' by default.
    stream : int or object, optional
        The stream on which the elements are ready. By default the default stream of the
        device. Not used on the CPU.
    owner : object, optional
        An object that keeps the memory alive. The Tensor and its consumers hold a reference.
        By default the caller keeps the memory alive.
    readonly : bool, optional
        Whether the memory must not be written.

    Returns
    -------
    Tensor
        A tensor on the memory.

    Raises
    ------
    ValueError
        If an argument has an invalid value: a null or misaligned pointer, a negative extent,
        a size beyond the address space, or another device than the driver reports.

    Examples
    --------
    >>> x = np.arange(6, dtype="int32")
    >>> dlbridge.from_pointer(x.ctypes.data, (2, 3), "int32", owner=x).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """

def empty(
    shape: SupportsIndex | Sequence[SupportsIndex],
    dtype: DTypeLike,
    *,
    device: DeviceLike | None = "cpu",
    pinned: bool = False,
) -> Tensor:
    """Return a row-major Tensor in new memory, whose elements are not initialized.

    Parameters
    ----------
    shape : int or tuple of int
        The extents.
    dtype : str, framework's dtype, or tuple of int
        As for dlbridge.dtype.
    device : str, tuple of int, or framework's device, optional
        A device of CUDA or ROCm, or 'cpu', where the memory is aligned to 64 bytes.
    pinned : bool, optional
        Whether memory of the host is pinned, so that devices access it directly.

    Returns
    -------
    Tensor
        A tensor in new memory.

    Raises
    ------
    ValueError
        If an argument has an invalid value.
    MemoryError
        If the memory cannot be allocated.
    RuntimeError
        If the driver of the device is missing or fails.

    Examples
    --------
    >>> t = dlbridge.empty((2, 3), "float32")
    >>> t.shape, t.strides, t.readonly
    ((2, 3), (3, 1), False)
    """

def _rebuild(
    buffer: Any, dtype: str, shape: tuple[int, ...], order: str, readonly: bool, flags: int, /
) -> Tensor:
    """Restore a pickled tensor."""

def _drivers() -> dict[str, dict[str, Any]]:
    """Return the facts of the CUDA and ROCm drivers, or why each is missing."""

def _vector(size: int, on_free: Callable[[], object]) -> Tensor:
    """Return a Tensor on a C++ std::vector<float>; on_free is called when the vector is freed."""
