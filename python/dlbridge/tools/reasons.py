# SPDX-License-Identifier: BSD-3-Clause
"""The reasons why dlbridge refuses a tensor or a request: dlbridge::errc, in its order.

The table of docs/reference/errors.md has the same words. The tests compare the two, and the names
and classes with include/dlbridge/error.hpp.
"""

from __future__ import annotations

from dataclasses import dataclass

from .conformance.rules import texts as t
from .conformance.rules.model import Text


@dataclass(frozen=True)
class Reason:
    id: str  # the enumerator of errc
    when: str  # in which cases it is raised
    exception: str  # the class in Python
    remedy: str
    texts: tuple[Text, ...] = ()  # the sentences that it follows from; none where dlbridge demands


ROWS = [
    Reason(
        "not_a_producer",
        "the object has no __dlpack__; in as_tensor also no buffer, no array interface and no "
        "Arrow array",
        "TypeError",
        "pass an array, or call as_tensor for buffers and array interfaces",
        (t.METHODS,),
    ),
    Reason(
        "not_a_capsule",
        "an object is not a DLPack capsule, or the capsule has another name",
        "TypeError",
        "pass a capsule that __dlpack__ or to_dlpack returned",
        (t.CAPSULE,),
    ),
    Reason(
        "capsule_used",
        "the capsule was consumed before",
        "ValueError",
        "export the array again: a capsule can be consumed once",
        (t.CONSUMED_ONCE,),
    ),
    Reason(
        "version_mismatch",
        "the major version of the struct is not 1; or padded sub-byte elements, which need a "
        "flag, are requested as a legacy struct or as the DLTensor of an exchange table, "
        "which have no flags",
        "BufferError",
        "request max_version=(1, 0) or newer from the producer, or use a newer dlbridge",
        (t.MAJOR,),
    ),
    Reason(
        "malformed",
        "the rank is outside 0 to 64, the shape is missing, an extent is negative, or an array "
        "interface is invalid",
        "BufferError",
        "report it to the authors of the producer",
        (t.NDIM, t.SHAPE),
    ),
    Reason(
        "overflow",
        "a size in bits or an address does not fit 64 bits; an index does not fit the index_type"
        " of an mdspan",
        "BufferError",
        "pass a view of fewer elements: strides of 0 can describe more than 2^60 bytes; for "
        "an mdspan choose a wider index_type",
    ),
    Reason(
        "null_data",
        "a non-empty tensor has no memory, such as PyTorch's fake and lazy tensors (for its "
        "meta tensors PyTorch raises ValueError). In C++ also: a function that takes a "
        "tensor_view receives an empty owner, such as a managed_tensor that was moved from; "
        "build_on receives memory and an empty owner of it",
        "BufferError",
        "give the tensor storage first; in C++ pass an owner that has a tensor or an array",
        (t.EMPTY,),
    ),
    Reason(
        "dtype_mismatch",
        "the dtype differs from the required one, or the library of a result lacks it, or DLPack"
        " 1.x, the buffer protocol or NumPy has no name for it",
        "BufferError",
        "convert with the producer's library; for an ndarray the message states the expression "
        "to pass",
        (t.DTYPE_CODE,),
    ),
    Reason(
        "rank_mismatch",
        "the rank differs from the required one",
        "BufferError",
        "reshape with the producer's library",
    ),
    Reason(
        "extent_mismatch",
        "an extent differs from the required one",
        "BufferError",
        "reshape or slice with the producer's library",
    ),
    Reason(
        "device_mismatch",
        "the device differs from the required one or is unknown; or its memory cannot be "
        "reached or moved",
        "BufferError",
        "move the tensor first",
        (t.UNSUPPORTED_DEVICE,),
    ),
    Reason(
        "layout_mismatch",
        "the strides differ from the required layout; a copy would write to elements that share "
        "memory; byte strides are not multiples of the element size; an array has masked "
        "elements; an Arrow array has nulls or several chunks",
        "BufferError",
        "copy the tensor: from_dlpack(x).copy() is row-major. A copy that the producer makes for"
        " copy=True may keep its order",
        (t.STRIDED,),
    ),
    Reason(
        "read_only",
        "writable memory is required; a legacy struct is requested for read-only memory",
        "BufferError",
        "accept T const, request a versioned struct, or copy",
        (t.READ_ONLY,),
    ),
    Reason(
        "misaligned",
        "the first element is not aligned as required",
        "BufferError",
        "copy the tensor: from_dlpack(x).copy() is aligned to 64 bytes",
        (t.NO_ALIGNMENT,),
    ),
    Reason(
        "value_mismatch",
        "an element of a tensor that is converted by value would change; the message has it and "
        "its index",
        "BufferError",
        "pass values that the dtype has",
    ),
    Reason(
        "copy_forbidden",
        "copy=False, and a copy is needed or cannot be ruled out; reshape or view would need a "
        "copy, which they never make",
        "CopyForbiddenError",
        "omit copy=False; copy before: t.copy().reshape(...)",
        (t.COPY_FALSE,),
    ),
    Reason(
        "bad_argument",
        "a value is none of those that the parameter accepts, such as a negative extent of a new"
        " tensor; array_traits<T>::describe returns shape and strides of different ranks, or "
        "another rank in its second call; the memory of a host_allocator is not aligned; a field "
        "of a requirement would not be checked, such as extents without rank",
        "ValueError",
        "correct the argument",
    ),
    Reason(
        "bad_stream",
        "the device has no such stream, for example 0 on CUDA",
        "ValueError",
        "pass a stream that the device has",
        (t.STREAM_ZERO,),
    ),
    Reason(
        "capturing",
        "only one of two streams is being captured into a graph, or the host would wait for a "
        "captured stream; nothing was enqueued",
        "RuntimeError",
        "order the streams in your own code and pass stream=-1",
    ),
    Reason(
        "not_permitted",
        "a host function that runs on a stream (cuLaunchHostFunc) calls a driver",
        "RuntimeError",
        "use the device in another thread",
    ),
    Reason(
        "runtime_missing",
        "the driver of the device was not found, or lacks a required function; the message lists"
        " the files that were tried",
        "RuntimeError",
        "install or update the driver; python -m dlbridge doctor shows what was found",
    ),
    Reason(
        "runtime_failed",
        "a driver call failed, possibly because of earlier work on the device; the message has "
        "the call and the driver's own error text",
        "RuntimeError",
        "follow the message",
    ),
    Reason(
        "producer_failed",
        "a producer returned a value that DLPack does not allow",
        "BufferError",
        "report it to the authors of the producer",
        (t.PRODUCES_CAPSULE,),
    ),
    Reason(
        "out_of_memory",
        "the host or the device has no memory for the struct or the copy; nothing is left "
        "allocated",
        "MemoryError",
        "free memory",
    ),
]
REASONS: dict[str, Reason] = {row.id: row for row in ROWS}
