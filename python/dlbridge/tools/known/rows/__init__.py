"""The rows of the table, a file for each library."""

from __future__ import annotations

from dlbridge.tools.known.defect import Defect
from dlbridge.tools.known.rows import (
    cuda_core,
    dpnp,
    jax,
    mlx,
    mpi4py,
    mxnet,
    nanobind,
    numpy,
    onnxruntime,
    paddle,
    pyarrow,
    tensorflow,
    torch,
    tvm_ffi,
    warp,
)

ROWS: tuple[Defect, ...] = (
    *numpy.ROWS,
    *torch.ROWS,
    *jax.ROWS,
    *tensorflow.ROWS,
    *mxnet.ROWS,
    *tvm_ffi.ROWS,
    *mpi4py.ROWS,
    *dpnp.ROWS,
    *paddle.ROWS,
    *mlx.ROWS,
    *pyarrow.ROWS,
    *onnxruntime.ROWS,
    *warp.ROWS,
    *cuda_core.ROWS,
    *nanobind.ROWS,
)
