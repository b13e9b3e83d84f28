# SPDX-License-Identifier: BSD-3-Clause
"""The rules of a tensor's fields: device, shape, strides, dtype, data, and the kind of struct."""

from __future__ import annotations

import math
import re

from ... import abi, devices, dtypes
from ..helpers.exports import element_bytes, size
from ..helpers.survey import Sample
from .verdict import HOLDS, Verdict

WITH_INDEX_0 = frozenset({devices.CPU, *devices.PINNED, devices.CUDA_MANAGED})
NEWEST = (1, 3)  # the version of dlpack.h whose dtypes are known here
NAMED = {  # dtypes by their names
    dtypes.name((code, bits, 1)): (code, bits, 1)
    for code, row in dtypes.CODES.items()
    for bits in sorted(row.widths or ())
    if dtypes.is_known((code, bits, 1))
}


# Devices -----------------------------------------------------------------------------------------


def _are_on_host(*types: int) -> bool:
    return devices.HOST_ACCESSIBLE.issuperset(types)


def _other_device(sample: Sample) -> str:
    return f"__dlpack_device__() is {sample.device}; the capsule has {sample.contents.device}"


def device(sample: Sample) -> Verdict:
    actual, reported = sample.contents.device, sample.device
    if reported is None:
        return None
    is_right = actual == reported or _are_on_host(actual[0], reported[0])
    return HOLDS if is_right else _other_device(sample)


def device_type(sample: Sample) -> Verdict:
    actual, reported = sample.contents.device, sample.device
    if reported is None or not _are_on_host(actual[0], reported[0]):
        return None
    return HOLDS if actual[0] == reported[0] else _other_device(sample)


def device_index(sample: Sample) -> Verdict:
    places = {"the capsule": sample.contents.device, "__dlpack_device__()": sample.device}
    for where, pair in places.items():
        if pair is not None and pair[0] in WITH_INDEX_0 and pair[1] != 0:
            return f"{where} has {pair}; the index of memory of the host is 0"
    return HOLDS if sample.contents.device[0] in WITH_INDEX_0 else None


# Shapes and strides ------------------------------------------------------------------------------


def shape(sample: Sample) -> Verdict:
    tensor = sample.contents
    if not 0 <= tensor.ndim <= abi.MAX_NDIM:
        return f"ndim is {tensor.ndim}"
    if tensor.shape is None:
        what = "NULL" if tensor.shape_is_null else "a pointer that is not readable"
        return f"ndim is {tensor.ndim}, and shape is {what}"
    if any(extent < 0 for extent in tensor.shape):
        return f"the shape is {tensor.shape}"
    is_one_element = size(tensor) == 1  # of any rank: P-20 judges arrays without dimensions
    if sample.shape not in (None, tensor.shape) and not is_one_element:
        return f"the array has shape {sample.shape}, and its capsule {tensor.shape}"
    return HOLDS


def strides(sample: Sample) -> Verdict:
    tensor = sample.contents
    if tensor.version is None or tensor.version < (1, 2) or tensor.ndim <= 0:
        return None
    if tensor.strides_is_null:
        return f"strides is NULL in a capsule of version {dotted(tensor.version)}"
    return HOLDS


def idle_strides(sample: Sample) -> Verdict:
    tensor = sample.contents
    if tensor.strides is None or tensor.shape is None or sample.what.startswith("x"):
        return None  # a view has the strides of its base
    most = math.prod(max(1, extent) for extent in tensor.shape)
    idle = [
        step
        for extent, step in zip(tensor.shape, tensor.strides)
        if extent == 1 or size(tensor) == 0
    ]
    if not all(0 <= step <= most for step in idle):
        return f"shape {tensor.shape} has strides {tensor.strides}"
    return HOLDS if idle else None


def alignment(sample: Sample) -> Verdict:
    tensor = sample.contents
    own = element_bytes(tensor) // (2 if tensor.dtype[0] == dtypes.COMPLEX else 1)
    if tensor.device[0] not in devices.ADDRESSES or not size(tensor) or own == 0:
        return None
    if tensor.first % own:
        return f"the first element is at {tensor.first:#x}, which is no multiple of {own} bytes"
    return HOLDS


def data_without_elements(sample: Sample) -> Verdict:
    tensor = sample.contents
    if tensor.shape is None or size(tensor):
        return None
    return f"shape {tensor.shape} has data {tensor.data:#x}" if tensor.data else HOLDS


# Dtypes ------------------------------------------------------------------------------------------


def dtype(sample: Sample) -> Verdict:
    tensor, name = sample.contents, sample.dtype
    reason = _illegal(tensor)
    if reason is not None:
        return f"the dtype is {tensor.dtype}: {reason}"
    if name not in NAMED or name == "bool" or is_another(sample.own_dtype, name):
        return HOLDS
    if tensor.dtype != NAMED[name]:
        return (
            f"the dtype is {dtypes.name(tensor.dtype)} {tensor.dtype}; the array's is {name} "
            f"{NAMED[name]}"
        )
    return HOLDS


def _illegal(tensor: abi.Contents) -> str | None:
    """Returns what is wrong with a dtype, None for a valid one."""
    code, bits, lanes = dtype = tensor.dtype
    if lanes < 1:
        return "lanes must be at least 1"
    if bits < 1:
        return "bits must be above 0"
    if code not in dtypes.CODES or code in dtypes.SUBBYTE_FLOATS:
        return None  # P-53 and P-55 judge them
    if code == dtypes.UINT and bits == 1:
        return None  # a bool; P-17 reports it
    return None if dtypes.has_width(dtype) else f"code {code} has no width of {bits} bits"


def is_another(own: str | None, name: str) -> bool:
    """Whether the array reports another dtype than the requested one.

    JAX narrows to 32 bits, and Paddle's uint16 is a bfloat16: neither is an error of the export.
    """
    return own is not None and name not in re.split(r"\W+", own)


def bits_of_small_float(sample: Sample) -> Verdict:
    code, bits, _ = sample.contents.dtype
    if code not in dtypes.SUBBYTE_FLOATS:
        return None
    row = dtypes.CODES[code]
    if bits not in (row.widths or ()):
        return f"the dtype is {sample.contents.dtype}: {row.name} of {bits} bits"
    return HOLDS


def type_code(sample: Sample) -> Verdict:
    tensor = sample.contents
    is_newer = tensor.version is not None and tensor.version > NEWEST
    if tensor.dtype[0] not in dtypes.CODES and not is_newer:
        return f"the dtype is {tensor.dtype}: DLDataTypeCode has no code {tensor.dtype[0]}"
    return HOLDS


def boolean(sample: Sample) -> Verdict:
    if sample.dtype != "bool" or is_another(sample.own_dtype, "bool"):
        return None
    if sample.contents.dtype != (dtypes.BOOL, 8, 1):
        name = dtypes.name(sample.contents.dtype)
        return f"its bool is exported as {name} {sample.contents.dtype}"
    return HOLDS


def padding(tensor: abi.Contents) -> Verdict:
    if tensor.version is None:
        return None
    if tensor.flags & abi.SUBBYTE_PADDED and tensor.dtype[1] * tensor.dtype[2] % 8 == 0:
        return f"SUBBYTE_PADDED is set on {tensor.dtype}"
    return HOLDS


# The struct --------------------------------------------------------------------------------------


def legacy_unless_asked(sample: Sample) -> Verdict:
    if sample.keywords.get("max_version") is not None:
        return None
    if sample.contents.version is not None:
        return (
            f"without max_version it returned a capsule named {abi.VERSIONED!r}, which a consumer "
            "of DLPack 0 cannot read"
        )
    return HOLDS


def dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
