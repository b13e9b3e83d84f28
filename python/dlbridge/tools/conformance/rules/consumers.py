# SPDX-License-Identifier: BSD-3-Clause
"""The rules of consumers: how from_dlpack asks for a tensor, and how it reads one."""

from __future__ import annotations

from . import texts as t
from .model import Rule

ROWS = [
    # Negotiation
    Rule(
        "C-01",
        "should",
        "A legacy capsule is accepted from a producer that has no other.",
        (t.BOTH_STRUCTS, t.CONSUMER_LOGIC),
        "Read the capsule's name, and then the struct that it identifies.",
    ),
    Rule(
        "C-02",
        "courtesy",
        "The first call passes max_version.",
        (t.NOT_YET,),
        "Call __dlpack__(max_version=(1, 0)): only a versioned capsule has flags.",
        'Consumers may wait with it "until a later time after introduction".',
    ),
    Rule(
        "C-03",
        "should",
        "The capsule's name determines the struct, not the request: a legacy capsule for "
        "max_version is accepted.",
        (t.BOTH_STRUCTS, t.ANY_VERSION),
        "Branch on the name of the capsule.",
        "TensorFlow, JAX and MLX return it.",
    ),
    Rule(
        "C-04",
        "must",
        "A managed tensor of major version 2 is refused; its deleter runs once and nothing else is "
        "read.",
        (t.MAJOR,),
        "Check version.major before any other field; leave the capsule to its destructor and "
        "raise BufferError.",
    ),
    Rule(
        "C-05",
        "should",
        "A newer minor version and the flag IS_COPIED are accepted.",
        (t.MINOR,),
        "Compare the major version only, and test the flags that you know.",
        "A consumer may refuse flags that it does not know how to interpret.",
    ),
    Rule(
        "C-06",
        "hardening",
        "An object that is no fresh capsule is refused with an error: a used one, one without a "
        "name, one with another name, no capsule.",
        (t.CAPSULE,),
        "Check the name with PyCapsule_IsValid before reading the pointer.",
        "onnxruntime#24095.",
    ),
    Rule(
        "C-07",
        "unsound",
        "The deleter of a consumed tensor runs exactly once, and not before its last use.",
        (t.BORROWING, t.DELETER_CALLED),
        "Rename the capsule when you take ownership, and call the deleter in the destructor of the "
        "object that owns the tensor, and nowhere else.",
    ),
    # Reading
    Rule(
        "C-08",
        "unsound",
        "NULL strides of a legacy capsule, or of one before 1.2, are not read as others than "
        "row-major.",
        (t.NULL_STRIDES, t.NULL_IS_ROW_MAJOR),
        "Compute row-major strides where the pointer is NULL.",
        "cupy#2095. dlpack.h 1.2 frees consumers from the test for capsules of 1.2 and newer only.",
    ),
    Rule(
        "C-09",
        "unsound",
        "byte_offset is not ignored.",
        (t.OFFSET, t.BYTE_OFFSET),
        "Use data + byte_offset as the address of the first element, or refuse an offset with "
        "BufferError.",
        "cuda-python#2592, pytorch#168177.",
    ),
    Rule(
        "C-10",
        "unsound",
        "Positive and zero strides of every rank give the right values or a refusal.",
        (t.STRIDES, t.STRIDED),
        "Honour every stride, copy, or raise BufferError.",
        "tensorflow#42660, jax#7657.",
    ),
    Rule(
        "C-11",
        "hardening",
        "An invalid shape is refused: ndim below 0 or above the limit, a negative extent, a size "
        "that overflows, NULL with elements.",
        (t.NDIM, t.SHAPE),
        "Check ndim and every extent before using them, multiply extents with a check for "
        "overflow, and refuse NULL shape or data where there are elements.",
    ),
    Rule(
        "C-12",
        "unsound",
        "The elements of a dtype of DLPack are read as elements of that dtype, or refused.",
        (t.DTYPE_EXAMPLES, t.FROM_DATA),
        "Compare code, bits and lanes with what you support, and raise BufferError for the rest.",
    ),
    Rule(
        "C-13",
        "should",
        "A library with read-only arrays marks the import of read-only memory, and views of it, as "
        "read-only.",
        (t.READ_ONLY, t.READ_ONLY_IGNORED),
        "Mark the result as read-only, or copy.",
        "A library without read-only arrays should ignore the flag, and breaks nothing; "
        "that one with them should not, follows from the sentence.",
    ),
    Rule(
        "C-14",
        "unsound",
        "Memory of a device type of DLPack that is not supported is refused, and never read.",
        (t.DEVICE, t.UNSUPPORTED_DEVICE),
        "Compare the device in the capsule with those you support before reading data, and raise "
        "BufferError.",
        "cupy#7131.",
    ),
    Rule(
        "C-15",
        "should",
        "Data that is aligned to its element only is read correctly or refused.",
        (t.NO_ALIGNMENT,),
        "Test the alignment of the first element, and copy or refuse where your code needs more.",
        "dlpack.h also requires 256 bytes of producers; dlpack#99, jax#29810.",
        crash="W",
    ),
    Rule(
        "C-16",
        "should",
        "An empty array whose data is NULL is accepted.",
        (t.EMPTY,),
        "Test the size before testing the pointer.",
        "The sentence recommends it to producers, whose tensors such a consumer refuses; "
        "onnxruntime#27450, pytorch#41182.",
    ),
    Rule(
        "C-17",
        "must",
        "A consumer that asks for max_version=(1, x) accepts a versioned capsule.",
        (t.MAX_VERSION,),
        "Accept what you ask for: read the capsule's name, and then the struct.",
    ),
    Rule(
        "C-18",
        "must",
        "An error other than TypeError is not answered by a call with fewer keywords.",
        (t.FROM_PROPAGATES,),
        "Retry on TypeError only, and let other exceptions pass.",
    ),
    Rule(
        "C-19",
        "must",
        "copy=False never returns a copy, of the consumer or of a producer that was not told.",
        (t.FROM_COPY_FALSE,),
        "Forward copy=False, share the memory, and raise BufferError or ValueError where you must "
        "copy.",
        "A retry without copy after TypeError is the published pattern.",
    ),
    Rule(
        "C-20",
        "should",
        "A consumed capsule is renamed.",
        (t.RENAMING, t.VERSIONED_NAMES),
        "Set the name to used_dltensor or used_dltensor_versioned when you take ownership.",
        "The demand is to transfer ownership; other ways, such as removing the "
        "destructor, are sound.",
    ),
    Rule(
        "C-21",
        "unsound",
        "A permitted tensor that is refused is freed exactly once.",
        (t.RENAMING, t.BORROWING, t.DELETES_ITSELF),
        "Check before you rename the capsule, or call the deleter of what you took and refuse.",
    ),
    Rule(
        "C-22",
        "hardening",
        "An invalid tensor that is refused is freed exactly once.",
        (t.RENAMING, t.BORROWING),
        "Check before you rename the capsule, or call the deleter of what you took and refuse.",
        "pytorch#171820.",
    ),
    Rule(
        "C-23",
        "should",
        "NULL strides of a legacy capsule, or of one before 1.2, are accepted.",
        (t.NULL_STRIDES, t.NULL_IS_ROW_MAJOR),
        "Compute row-major strides where the pointer is NULL.",
    ),
    Rule(
        "C-24",
        "should",
        "A byte_offset is accepted.",
        (t.OFFSET,),
        "Use data + byte_offset as the address of the first element.",
        "The sentence recommends it to producers, whose tensors such a consumer refuses.",
    ),
    Rule(
        "C-25",
        "should",
        "A tensor without dimensions is accepted, with shape and strides of NULL.",
        (t.STRIDES_OF_SCALARS, t.STRIDED),
        "Do not read shape and strides where ndim is 0.",
    ),
    Rule(
        "C-26",
        "courtesy",
        "Booleans, (6, 8, 1), are accepted where bytes are.",
        (t.BOOLEANS,),
        "Accept kDLBool of 8 bits, and not only kDLUInt.",
        "No standard recommends a dtype to consumers: Arrow packs its booleans.",
    ),
    Rule(
        "C-27",
        "must",
        "A 4-bit or 6-bit float with another number of bits is refused, or its bits are preserved.",
        (t.SUBBYTE_BITS, t.SUBBYTE_BITS_OF_FP6),
        "Compare bits as well as the code, and raise BufferError.",
    ),
    Rule(
        "C-28",
        "hardening",
        "A dtype that DLPack does not have is refused or preserved, and never read as another one.",
        (t.DTYPE_CODE,),
        "Compare code, bits and lanes with what you support, and raise BufferError for the rest.",
    ),
    Rule(
        "C-29",
        "unsound",
        "A view of the result keeps the memory alive.",
        (t.BORROWING,),
        "Let views hold the object that owns the managed tensor.",
    ),
    Rule(
        "C-30",
        "unsound",
        "The result exports what it holds: the elements, the dtype and the device, and "
        "keeps them alive.",
        (t.DATA, t.DEVICE, t.BORROWING),
        "Export imported arrays by the same code as your own, and keep the owner.",
    ),
    Rule(
        "C-31",
        "hardening",
        "A capsule whose device or struct differs from what was announced is refused or read "
        "correctly.",
        (t.DEVICE, t.VERIFY_VERSION),
        "Use the struct, and not __dlpack_device__() or your own request.",
    ),
    Rule(
        "C-32",
        "should",
        "A tensor with a NULL deleter is accepted.",
        (t.NULL_DELETER,),
        "Test the deleter for NULL before calling it; there is nothing to free.",
    ),
    Rule(
        "C-33",
        "hardening",
        "Data that is not aligned to its element is read correctly or refused.",
        (t.ALIGNMENT,),
        "Test the alignment of the first element, and copy or refuse.",
    ),
    Rule(
        "C-34",
        "should",
        "An unsupported device is refused with BufferError.",
        (t.UNSUPPORTED_DEVICE,),
        "Raise BufferError before reading data.",
        "Until 0.8 DLPack recommended TypeError. It passes where a library claims array API "
        "2022.12 or older, which are of that time.",
    ),
    Rule(
        "C-35",
        "courtesy",
        "Unknown flags are accepted.",
        (t.MINOR,),
        "Test the flags that you know, and ignore the others.",
        "A consumer may refuse what it does not know how to interpret.",
    ),
    Rule(
        "C-36",
        "unsound",
        "Negative strides give the right values or a refusal.",
        (t.STRIDES, t.STRIDED),
        "Honour negative strides, copy, or raise BufferError.",
        "No text limits strides to positive numbers, and NumPy sends negative ones; "
        "tensorflow#42660, jax#7657, pytorch#188023.",
    ),
    Rule(
        "C-37",
        "should",
        "from_dlpack without copy shares the memory where copy=False can share it.",
        (t.FROM_COPY_NONE, t.ZERO_COPY),
        "Share the memory by default, and copy only where it cannot be shared.",
        'A note of the same text says that the result "may be either a copy or a view".',
    ),
    Rule(
        "C-38",
        "should",
        "A conversion to a narrower dtype keeps the values, or is refused.",
        (t.FROM_DATA,),
        "Refuse a dtype that you do not have, or values that do not fit.",
        "JAX without x64 takes the low 32 bits of integers, and MLX rounds float64.",
    ),
]
