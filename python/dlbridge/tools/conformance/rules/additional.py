# SPDX-License-Identifier: BSD-3-Clause
"""The additional rules: streams, the exchange table, from_dlpack and asarray, other protocols."""

from __future__ import annotations

from . import texts as t
from .model import Rule

ROWS = [
    Rule(
        "S-01",
        "must",
        "The stream that a consumer passes is valid for the device: None or nothing for the CPU, "
        "an integer other than 0 for CUDA, not 1 or 2 for ROCm.",
        (t.STREAM_NONE, t.STREAM_ZERO, t.STREAM_ROCM),
        "Pass stream only for devices that have streams, and 1 for the legacy default stream of "
        "CUDA.",
    ),
    Rule(
        "S-02",
        "courtesy",
        "A consumer passes stream=-1 only when its user requests it.",
        (t.STREAM_UNORDERED,),
        "Pass the stream on which you will read.",
        "A consumer may pass -1, and orders the work itself then.",
    ),
    Rule(
        "S-03",
        "must",
        "The exchange table is a capsule of the specified name, with major version 1 and no NULL "
        "in a required slot.",
        (t.TABLE_NAME, t.TABLE_SLOTS),
        "Store a capsule named dlpack_exchange_api on the type, over one static struct, and fill "
        "every required slot.",
        "An integer, as DLPack 1.2 had it, is accepted: a sentence of 1.3 still mentions it.",
    ),
    Rule(
        "S-04",
        "courtesy",
        "The buffer protocol and the array interfaces describe the same bytes and the same access "
        "as __dlpack__.",
        (),
        "Implement every protocol from one description of the array.",
    ),
    Rule(
        "S-05",
        "courtesy",
        "The result of __cuda_stream__() begins with version 0.",
        (),
        "Return (0, address of the stream).",
        "cuda.core defines the protocol.",
    ),
    Rule(
        "S-06",
        "should",
        "SUBBYTE_PADDED is set on dtypes of less than 8 bits only.",
        (t.PACKED,),
        "Set flag 4 only where bits is below 8.",
    ),
    Rule(
        "S-07",
        "courtesy",
        "How a 4-bit float is packed: one in each element, or two.",
        (t.PACKED,),
        "Document the form that you export, and accept both.",
        "PyTorch sends (17, 4, 2), JAX (17, 4, 1).",
    ),
    Rule(
        "S-08",
        "courtesy",
        "Legacy and versioned exports describe the same array.",
        (t.SYNONYMS,),
        "Fill the DLTensor in one function, and put it into either struct.",
        "Different elements are P-38.",
    ),
    Rule(
        "S-09",
        "should",
        "A subclass that redefines __dlpack__ is exported by its own method.",
        (t.FROM_ANY_OBJECT,),
        "Call type(x).__dlpack__ and not a function cached for the base class.",
        "A type with an exchange table may be read by it.",
    ),
    Rule(
        "S-10",
        "must",
        "The producer orders its queued work before work that the consumer enqueues on the stream "
        "that it passed.",
        (t.STREAM_PASSED, t.STREAM_SAFE),
        "Let the consumer's stream wait for an event on the producer's.",
    ),
    Rule(
        "S-11",
        "must",
        "from_dlpack has the keywords device and copy.",
        (t.FROM_DLPACK,),
        "Declare def from_dlpack(x, /, *, device=None, copy=None).",
        for_claims=True,
    ),
    Rule(
        "S-12",
        "should",
        "from_dlpack of an object without __dlpack__ raises AttributeError or TypeError.",
        (t.FROM_MISSING,),
        "Pass on the AttributeError of the missing method.",
    ),
    Rule(
        "S-13",
        "must",
        "An exception that the producer raises reaches the caller unchanged.",
        (t.FROM_PROPAGATES,),
        "Do not catch exceptions of __dlpack__, except the TypeError of the fallback.",
    ),
    Rule(
        "S-14",
        "must",
        "from_dlpack(x, copy=True) returns memory that is not x's.",
        (t.FROM_COPY_TRUE,),
        "Forward copy=True, or copy; do not rely on alignment to force a copy.",
        "From 2024.12 on a library may share where it can guarantee that no write has side "
        "effects. It cannot for the memory of another library, which may write at any time.",
    ),
    Rule(
        "S-15",
        "must",
        "from_dlpack(x, copy=False) raises BufferError or ValueError where x must be copied.",
        (t.FROM_COPY_FALSE,),
        "Forward copy=False, and pass on the producer's BufferError.",
        "The standard names both classes; array-api#831.",
    ),
    Rule(
        "S-16",
        "must",
        "asarray(x, copy=True) never shares memory with x; copy=False shares it, or "
        "raises, where x has the buffer protocol.",
        (t.AS_ARRAY_COPY,),
        "Honour copy also for your own arrays; raise ValueError where copy=False is impossible.",
        "Outside DLPack: the array API's own function.",
        for_claims=True,
    ),
    Rule(
        "S-17",
        "unsound",
        "The exchange table exports the same elements as __dlpack__.",
        (t.TABLE_EXPORT,),
        "Fill the table's functions from the same code as __dlpack__.",
    ),
    Rule(
        "S-18",
        "hardening",
        "The exchange table's import refuses a managed tensor of major version 2.",
        (t.MAJOR,),
        "Check version.major before any other field, and raise BufferError.",
        "The caller passes another ABI than that of the table.",
    ),
    Rule(
        "S-19",
        "unsound",
        "The exchange table's import honours byte_offset.",
        (t.BYTE_OFFSET, t.TABLE_IMPORT),
        "Use data + byte_offset as the address of the first element.",
    ),
    Rule(
        "S-20",
        "should",
        "The exchange table's stream of the CPU is written when the function returns 0.",
        (t.TABLE_STREAM,),
        "Write NULL to the output argument where the device has no streams.",
    ),
    Rule(
        "S-21",
        "must",
        "Work that the consumer enqueues after the import reads finished elements.",
        (t.STREAM_PASSED,),
        "Pass your current stream to __dlpack__, and enqueue the work there.",
    ),
    Rule(
        "S-22",
        "must",
        "A copy to the host is finished when __dlpack__ returns.",
        (t.SYNCHRONIZED,),
        "Wait for the copy, and for the work before it, when dl_device is (1, 0).",
    ),
    Rule(
        "S-23",
        "must",
        "from_dlpack passes a device as dl_device, a pair of numbers.",
        (t.DEVICE_FORMAT,),
        "Translate your device to (device_type, device_id) before you call __dlpack__.",
    ),
]
