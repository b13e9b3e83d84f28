# SPDX-License-Identifier: BSD-3-Clause
"""The device types of DLPack: the one table of them in the tools (spec 1.3)."""

from __future__ import annotations

CPU, CUDA, CUDA_HOST, OPENCL, VULKAN, METAL, VPI, ROCM = 1, 2, 3, 4, 7, 8, 9, 10
ROCM_HOST, EXT_DEV, CUDA_MANAGED, ONEAPI, WEBGPU, HEXAGON, MAIA = 11, 12, 13, 14, 15, 16, 17
TRN, TPU, TPU_HOST, ASCEND = 18, 19, 20, 21  # from 19 on: accepted by DLPack, but not released

# By device type, as dlbridge names them. DLPack may define more: a type that is missing here is
# unknown, which does not make it invalid.
NAMES = {
    CPU: "cpu",
    CUDA: "cuda",
    CUDA_HOST: "cuda_host",
    OPENCL: "opencl",
    VULKAN: "vulkan",
    METAL: "metal",
    VPI: "vpi",
    ROCM: "rocm",
    ROCM_HOST: "rocm_host",
    EXT_DEV: "ext_dev",
    CUDA_MANAGED: "cuda_managed",
    ONEAPI: "oneapi",
    WEBGPU: "webgpu",
    HEXAGON: "hexagon",
    MAIA: "maia",
    TRN: "trn",
    TPU: "tpu",
    TPU_HOST: "tpu_host",
    ASCEND: "ascend",
}
PINNED = frozenset({CUDA_HOST, ROCM_HOST})
# The CPU may dereference their memory; managed memory migrates when it does.
HOST = frozenset({CPU, *PINNED, TPU_HOST})
HOST_ACCESSIBLE = HOST | {CUDA_MANAGED}
# Their `data` is documented to be an address. That of any other type counts as a handle.
ADDRESSES = frozenset({*HOST_ACCESSIBLE, CUDA, ROCM, ONEAPI})


def is_known(device: tuple[int, int]) -> bool:
    """Whether the table has the type of a device."""
    return device[0] in NAMES


def name(device: tuple[int, int]) -> str:
    """Returns the name of a device, without an index for the first CPU.

    >>> name((1, 0)), name((2, 1)), name((99, 0))
    ('cpu', 'cuda:1', 'unknown device (99, 0)')
    """
    if not is_known(device):
        return f"unknown device {device}"
    return NAMES[device[0]] if device == (CPU, 0) else f"{NAMES[device[0]]}:{device[1]}"
