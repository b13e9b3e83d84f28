# SPDX-License-Identifier: BSD-3-Clause
"""Cases of the device, observed with CPU builds; DEVICE where another build accepts it."""

from __future__ import annotations

from ... import devices
from ..reading.description import Description
from .case import (
    NO_EFFECT,
    OF_NUMPY,
    OTHER_BUILD,
    UNKNOWN,
    Case,
    on,
    reactions,
)

# Those to memory that neither the CPU nor a build without that device can read.
ELSEWHERE = reactions(
    numpy=OF_NUMPY,
    torch=OTHER_BUILD,
    jax="TypeError",
    tensorflow="InvalidArgumentError",
    mxnet="MXNetError",
    dpnp="BufferError",
    paddle="NotImplementedError",
    mlx="ValueError",
    pyarrow="ArrowNotImplementedError",
    onnxruntime="RuntimeError",
    warp="TypeError",
)
# By device type: the description, and the reactions.
NAMED = {
    devices.CUDA: (
        "on CUDA",
        reactions(
            OTHER_BUILD,
            numpy=OF_NUMPY,
            tvm_ffi=NO_EFFECT,
            dpnp="BufferError",
            mlx="ValueError",
            pyarrow="ArrowNotImplementedError",
            nanobind=NO_EFFECT,
        ),
    ),
    devices.CUDA_HOST: (
        "pinned by CUDA",
        reactions(
            ELSEWHERE,
            numpy=NO_EFFECT,
            torch="BufferError",
            jax="RuntimeError",
            paddle=NO_EFFECT,
            warp="RuntimeError",
        ),
    ),
    devices.METAL: (
        "on Metal",
        reactions(ELSEWHERE, mpi4py=UNKNOWN, mlx=OTHER_BUILD),
    ),
    devices.ROCM: (
        "on ROCm",
        reactions(
            ELSEWHERE,
            jax=OTHER_BUILD,
            tensorflow=OTHER_BUILD,
            mxnet=UNKNOWN,
            mpi4py=OTHER_BUILD,
            paddle=UNKNOWN,
            onnxruntime=OTHER_BUILD,
            warp=UNKNOWN,
        ),
    ),
    devices.ROCM_HOST: (
        "pinned by ROCm",
        reactions(
            ELSEWHERE,
            numpy=NO_EFFECT,
            torch="BufferError",
            jax=UNKNOWN,
            tensorflow=UNKNOWN,
            paddle=UNKNOWN,
            warp="RuntimeError",
        ),
    ),
    devices.CUDA_MANAGED: (
        "managed by CUDA",
        reactions(ELSEWHERE, numpy=NO_EFFECT, torch="BufferError", warp="IndexError"),
    ),
    devices.ONEAPI: (
        "on oneAPI",
        reactions(ELSEWHERE, mpi4py=UNKNOWN, dpnp=NO_EFFECT),
    ),
}


def _is_known(x: Description) -> bool:
    return x.device is None or devices.is_known(x.device)


def _is_other(x: Description) -> bool:
    return x.device is not None and _is_known(x) and x.device[0] not in (devices.CPU, *NAMED)


DEVICES = [
    Case(
        "CPU id",
        "risk",
        lambda x: on(devices.CPU)(x) and x.device is not None and x.device[1] != 0,
        lambda x: "the index of the CPU is not 0",
        reactions(jax="JaxRuntimeError", dpnp="BufferError"),
        lambda x: f"The device is {x.device_text}; dlpack.h sets the index of CPU memory to 0.",
        rule="P-33",
    ),
    *(
        Case(text, "", on(type_), lambda x, text=text: text, row)  # type: ignore[misc]
        for type_, (text, row) in NAMED.items()
    ),
    Case(
        "other device",
        "",
        _is_other,
        lambda x: f"on {x.device_text}",
        reactions(ELSEWHERE, torch=UNKNOWN),
    ),
    Case(
        "unknown device",
        "defect",
        lambda x: not _is_known(x),
        lambda x: "the device type is unknown",
        reactions(ELSEWHERE, torch="BufferError"),
        lambda x: f"DLPack defines no device of type {x.device[0] if x.device else 0}.",
    ),
]
