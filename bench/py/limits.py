# SPDX-License-Identifier: BSD-3-Clause
"""The limits: which call of dlbridge may cost how much of which other call.

Each row compares two calls of one run, mostly by the ratio of their times. CI fails when a row with
gate=True exceeds its limit by more than the slack; all rows are reported. `theirs` may name several
calls; the fastest one counts. docs/contributing/performance.md explains how the rows are measured.
"""

from __future__ import annotations

from dataclasses import dataclass

SLACK = 0.40  # of the limits of times in CI, whose machines differ
INSTRUCTIONS_SLACK = 0.10
TRIES = 3  # of a gate, each in a new process


@dataclass(frozen=True)
class Limit:
    """One row. `kind` is what is compared: times, instructions, or a value of another part."""

    id: str
    ours: str
    theirs: str | tuple[str, ...]
    limit: float | None  # None: reported without a limit
    gate: bool = False
    kind: str = "time"

    @property
    def slack(self) -> float:
        return {"time": SLACK, "instructions": INSTRUCTIONS_SLACK}.get(self.kind, 0.0)


# fmt: off
IMPORTS = (
    Limit("import-torch-tvm_ffi", "dlbridge.from_dlpack(torch)", "tvm_ffi.from_dlpack(torch)", 1.00),
    Limit("import-torch-numpy", "dlbridge.from_dlpack(torch)", "np.from_dlpack(torch)", 0.10),
    Limit("import-tvm_ffi", "dlbridge.from_dlpack(tvm_ffi)", "tvm_ffi.from_dlpack(tvm_ffi)", 0.80),
    Limit("import-bare", "dlbridge.from_dlpack(bare C)", "tvm_ffi.from_dlpack(bare C)", 0.50),
    Limit("import-ndarray", "dlbridge.from_dlpack(ndarray)", "np.from_dlpack(ndarray)", 0.20, gate=True),
    Limit("import-jax", "dlbridge.from_dlpack(jax)", "jax.__dlpack__(max_version)", 1.30, gate=True),
    Limit("import-subclass", "dlbridge.from_dlpack(ndarray subclass)", "np.from_dlpack(ndarray subclass)", 0.24, gate=True),
    Limit("import-protocol-numpy", "dlbridge.from_dlpack(ndarray by protocol)", "np.from_dlpack(ndarray by protocol)", 0.64),
    Limit("import-protocol-dlpack", "dlbridge.from_dlpack(ndarray by protocol)", "ndarray.__dlpack__(max_version)", 1.25),
    Limit("import-protocol-tvm_ffi", "dlbridge.from_dlpack(ndarray by protocol)", "tvm_ffi.from_dlpack(ndarray by protocol)", 0.60),
    Limit("import-own-round-trip", "dlbridge.from_dlpack(Tensor)", "C: round trip by table (Tensor)", 1.80, gate=True),
    Limit("import-own-numpy", "dlbridge.from_dlpack(Tensor)", "np.from_dlpack(ndarray)", 0.21, gate=True),
    Limit("import-own-tvm_ffi", "dlbridge.from_dlpack(Tensor)", "tvm_ffi.from_dlpack(Tensor)", 0.30, gate=True),
)
EXPORTS = (
    Limit("export-numpy", "Tensor.__dlpack__(max_version)", "ndarray.__dlpack__(max_version)", 0.75, gate=True),
    Limit("export-handshake", "Tensor.__dlpack__(max_version)", "capsule handshake", 2.15),
    Limit("export-nanobind", "Tensor.__dlpack__(max_version)", "nanobind.__dlpack__(max_version)", 1.10),
    Limit("export-device", "Tensor.__dlpack_device__()", "ndarray.__dlpack_device__()", 0.38, gate=True),
)
CONSUMERS = (
    Limit("asarray", "np.asarray(Tensor)", "np.from_dlpack(ndarray)", 1.10),
    Limit("memoryview", "memoryview(Tensor)", "memoryview(ndarray)", 0.90, gate=True),
    Limit("to-numpy", "np.from_dlpack(Tensor)", "np.from_dlpack(ndarray)", None),
    Limit("to-torch", "torch.from_dlpack(Tensor)", "torch.from_dlpack(ndarray)", None),
    Limit("to-torch-own", "torch.from_dlpack(Tensor)", "torch.from_dlpack(torch)", None),
    Limit("to-jax", "jax.numpy.from_dlpack(Tensor)", "jax.numpy.from_dlpack(ndarray)", None),
    Limit("to-jax-own", "jax.numpy.from_dlpack(Tensor)", "jax.numpy.from_dlpack(jax)", None),
    Limit("to-tvm_ffi", "tvm_ffi.from_dlpack(Tensor)", "tvm_ffi.from_dlpack(ndarray)", None),
    Limit("to-tvm_ffi-own", "tvm_ffi.from_dlpack(Tensor)", "tvm_ffi.from_dlpack(tvm_ffi)", None),
)
COPIES = (
    Limit("copy", "dlbridge.from_dlpack(4x4, copy=True)", "ndarray.copy(4x4)", 1.00, gate=True),
    Limit("copy-transposed", "dlbridge.from_dlpack(transposed 4x4, copy=True)", "ndarray.copy(transposed 4x4)", 1.00, gate=True),
    Limit("copy-strided", "dlbridge.from_dlpack(strided 4x4, copy=True)", "ndarray.copy(strided 4x4)", 1.00, gate=True),
)
ARGUMENTS = (
    Limit("def_fast-empty", "def_fast(Tensor)", "empty call", 2.05),
    Limit("def_fast-tvm_ffi", "def_fast(Tensor)", "tvm_ffi nop(Tensor)", 0.10),
    Limit("def_fast-nanobind", "def_fast(Tensor)", "nanobind ndarray(Tensor)", 0.20, gate=True),
    Limit("def_fast-checked", "def_fast row-major matrix(Tensor)", "def_fast(Tensor)", 1.20, gate=True),
    Limit("def_fast-torch-tvm_ffi", "def_fast(torch)", "tvm_ffi nop(torch)", 0.36),
    Limit("def_fast-torch3-tvm_ffi", "def_fast(torch x3)", "tvm_ffi nop(torch x3)", 0.57),
    Limit("def_fast-torch8-tvm_ffi", "def_fast(torch x8)", "tvm_ffi nop(torch x8)", 0.50, gate=True),
    Limit("def_fast-torch16-tvm_ffi", "def_fast(torch x16)", "tvm_ffi nop(torch x16)", 0.50, gate=True),
    Limit("def_fast-torch-nanobind", "def_fast(torch)", "nanobind ndarray(torch)", 0.035, gate=True),
    Limit("def_fast-owned-table", "def_fast owned(torch)", "C: own by table (torch)", 1.40, gate=True),
    Limit("def_fast-owned-tvm_ffi", "def_fast owned(torch)", "tvm_ffi.from_dlpack(torch)", 0.46, gate=True),
    Limit("def_fast-ndarray-nanobind", "def_fast(ndarray)", "nanobind ndarray(ndarray)", None),
    Limit("def_fast-ndarray-tvm_ffi", "def_fast(ndarray)", "tvm_ffi nop(ndarray)", None),
    Limit("def_fast-refusal", "def_fast refuses a dtype", "def_fast(Tensor)", 20.0),
    Limit("overloads-ten", "def, the last of ten overloads(Tensor)", "m.def, the last of ten overloads(Tensor)", 1.15, gate=True),
    Limit("overloads-one", "def two_of(ndarray)", "m.def two_of(ndarray)", 1.10, gate=True),
    Limit("overloads-three", "def two_of_three(ndarray)", "m.def two_of_three(ndarray)", 1.10, gate=True),
    Limit("overloads-number", "def two_of_number(ndarray)", "m.def two_of_number(ndarray)", 1.10, gate=True),
    Limit("buffer", "def or_other(bytes)", "m.def py::buffer(bytes)", 3.00, gate=True),
    Limit("caster-no-op", "caster(Tensor)", "pybind11 no-op(Tensor)", 1.75, gate=True),
    Limit("caster-nanobind", "caster(Tensor)", "nanobind ndarray(Tensor)", 0.72),
    Limit("caster3-tvm_ffi", "caster(Tensor x3)", "tvm_ffi nop(Tensor x3)", 0.45),
)
CHOICES = (
    Limit("choice-ndarray", "def any_of(ndarray)", "nanobind dispatch(ndarray)", 1.00, gate=True),
    Limit("choice-torch", "def any_of(torch)", "nanobind dispatch(torch)", 1.00, gate=True),
    Limit("choice-Tensor", "def any_of(Tensor)", "nanobind dispatch(Tensor)", 1.00, gate=True),
    Limit("choice-any_tensor", "def any_of(ndarray)", "def any_tensor(ndarray)", None),
)
RETURNS = (
    Limit("return-numpy", "def_fast returns to numpy", ("np.empty", "np.frombuffer"), 1.00, gate=True),
    Limit("return-torch", "def_fast returns to torch", ("torch.empty", "torch.from_numpy", "torch.frombuffer"), 1.00),
    Limit("return-jax", "def_fast returns to jax", ("jax.numpy.empty", "jax.numpy.asarray", "jax.device_put"), 1.60),
    Limit("return-like-numpy", "def_fast empty_like(ndarray)", "np.empty_like", 1.00),
    Limit("return-like-torch", "def_fast empty_like(torch)", "torch.empty_like", 1.00),
    Limit("return-like-jax", "def_fast empty_like(jax)", "jax.numpy.empty_like", 1.00),
    Limit("return-numpy-from_dlpack", "def_fast returns to numpy", "np.from_dlpack(ndarray)", 0.32),
    Limit("return-numpy-from_dlpack-own", "def_fast returns to numpy", "np.from_dlpack(Tensor)", 0.42),
    Limit("return-numpy-nanobind", "def_fast returns to numpy", "nanobind returns to numpy", 0.23),
)
GROWTH = (
    Limit("size-ndarray", "dlbridge.from_dlpack(ndarray of 1 GiB)", "dlbridge.from_dlpack(ndarray of 1 KiB)", 1.02, gate=True),
    Limit("size-bare", "dlbridge.from_dlpack(bare C of 1 GiB)", "dlbridge.from_dlpack(bare C of 1 KiB)", 1.02, gate=True),
    Limit("live-ndarray", "live tensors: dlbridge.from_dlpack(ndarray)", "last / first", 1.05, kind="growth"),
    Limit("live-bare", "live tensors: dlbridge.from_dlpack(bare C)", "last / first", 1.05, kind="growth"),
    Limit("types", "types: dlbridge.from_dlpack", "last / first", 1.50, kind="growth"),
    Limit("arguments-linear", "tensors per call: def_fast(Tensor)", "1 - R² of a line", 0.01, kind="growth"),
    Limit("arguments-slope", "tensors per call: def_fast(Tensor)", "slope, in empty calls", 0.95, kind="growth"),
    Limit("arguments-slope-ndarray", "tensors per call: def_fast(ndarray)", "slope, in empty calls", 1.25, kind="growth"),
    Limit("rank-slope-ndarray", "rank: dlbridge.from_dlpack(ndarray)", "slope, in empty calls", 0.16, kind="growth"),
    Limit("rank-slope-bare", "rank: dlbridge.from_dlpack(bare C)", "slope, in empty calls", 0.16, kind="growth"),
    Limit("threads", "threads: from_dlpack, distinct tensors", "of the scaling of an empty call", 0.90, kind="at least"),
)
START = (
    Limit("import-milliseconds", "import dlbridge", "milliseconds above an empty interpreter", 25.0, kind="start"),
    Limit("wheel-bytes", "wheel", "bytes", 2e6, gate=True, kind="start"),
)
# Instructions beyond those of the other call. They were counted with this CPython on this machine,
# where an empty call has EMPTY_INSTRUCTIONS. Another build of the same CPython has other counts, so
# the slack is larger there; with another CPython or machine the limits are not judged.
INSTRUCTIONS_OF = ("3.11", "x86_64")
EMPTY_INSTRUCTIONS = 70
OTHER_BUILD_SLACK = 0.50
INSTRUCTIONS = (
    Limit("instructions-device", "Tensor.__dlpack_device__()", "empty call", 27, gate=True, kind="instructions"),
    Limit("instructions-export", "Tensor.__dlpack__(max_version)", "empty call", 468, gate=True, kind="instructions"),
    Limit("instructions-import-own", "dlbridge.from_dlpack(Tensor)", "empty call", 215, gate=True, kind="instructions"),
    Limit("instructions-import-bare", "dlbridge.from_dlpack(bare C)", "empty call", 700, gate=True, kind="instructions"),
    Limit("instructions-memoryview", "memoryview(Tensor)", "empty call", 950, gate=True, kind="instructions"),
    Limit("instructions-def_fast", "def_fast(Tensor)", "empty call", 49, gate=True, kind="instructions"),
    Limit("instructions-checks", "def_fast row-major matrix(Tensor)", "def_fast(Tensor)", 15, gate=True, kind="instructions"),
    Limit("instructions-def_fast3", "def_fast(Tensor x3)", "empty call", 180, gate=True, kind="instructions"),
    Limit("instructions-def_fast-ndarray", "def_fast(ndarray)", "empty call", 165, gate=True, kind="instructions"),
    Limit("instructions-def_fast-bare", "def_fast(bare C)", "empty call", 166, gate=True, kind="instructions"),
    Limit("instructions-def_fast-matrix", "def_fast row-major matrix(Tensor)", "empty call", 64, gate=True, kind="instructions"),
    Limit("instructions-caster", "caster(Tensor)", "empty call", 529, gate=True, kind="instructions"),
    Limit("instructions-def", "def(Tensor)", "empty call", 619, gate=True, kind="instructions"),
)
# fmt: on


def of_vectorized() -> tuple[Limit, ...]:
    """A function of two numbers. With 10^6 of them the time is that of memory."""
    names = ["two numbers"]
    names += [f"two arrays of {10**i:,}" for i in range(7)]
    names += [f"array of {10**i:,}, number" for i in range(7)]
    return tuple(
        Limit(f"vectorize-{name}", f"dlbridge::vectorize({name})", f"py::vectorize({name})",
              1.20 if "1,000,000" in name else 1.00, gate=True)
        for name in names
    )  # fmt: skip


# Functions that do not read their tensor: in compiled mode g++ does not see that no other function
# reads it, and writes its view, in 21 instructions of a call.
UNREAD = ("def_fast(Tensor)", "def_fast(Tensor x3)", "def_fast(ndarray x3)", "def_fast(bare C x3)",
          "def_fast empty_like(ndarray)")  # fmt: skip


def of_modes() -> tuple[Limit, ...]:
    """An extension in compiled mode, compared with the same one in header-only mode: instructions,
    or times of calls with PyTorch, which callgrind does not count."""
    names = [f"{how}({x}{more})" for how in ("def_fast", "def", "caster")
             for x in ("Tensor", "ndarray", "bare C", "torch") for more in ("", " x3")]  # fmt: skip
    names += ["def returns to numpy", "def_fast returns to numpy", "def_fast empty_like(ndarray)"]
    return tuple(
        Limit(f"modes-{name}", f"compiled {name}", name, 1.04, gate=name not in UNREAD,
              kind="time" if "torch" in name else "ratio of instructions")
        for name in names
    )  # fmt: skip


LIMITS = (
    *IMPORTS,
    *EXPORTS,
    *CONSUMERS,
    *COPIES,
    *ARGUMENTS,
    *CHOICES,
    *of_vectorized(),
    *RETURNS,
    *GROWTH,
    *START,
    *INSTRUCTIONS,
    *of_modes(),
)
