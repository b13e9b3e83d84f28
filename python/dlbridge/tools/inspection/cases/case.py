"""A case: what a tensor can be, how that is said, and what every consumer makes of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable, Literal

from dlbridge.tools.inspection.description import Description

Level = Literal["defect", "risk", "note", ""]

# The columns of every row of cells.
HEADER = """
    numpy torch jax tensorflow mxnet tvm_ffi mpi4py
    dpnp paddle mlx pyarrow onnxruntime warp nanobind
"""
COLUMNS = tuple(HEADER.split())

# What a cell can say, beside "." for nothing: an exception by its initials, ...
EXCEPTIONS = {
    "AIn": "ArrowInvalid",
    "ANI": "ArrowNotImplementedError",
    "ATy": "ArrowTypeError",
    "BE": "BufferError",
    "IAE": "InvalidArgumentError",
    "IE": "IndexError",
    "JRE": "JaxRuntimeError",
    "KE": "KeyError",
    "ME": "MemoryError",
    "MPI": "MPI.Exception",
    "MXE": "MXNetError",
    "NIE": "NotImplementedError",
    "OE": "OverflowError",
    "RE": "RuntimeError",
    "TE": "TypeError",
    "UDE": "UnicodeDecodeError",
    "VE": "ValueError",
}
# ... a signal, which ends the process, ...
SIGNALS = {"ABRT": "SIGABRT", "SEGV": "SIGSEGV"}
# ... or one of these, in words.
WORDS = {
    "copies": "copies",
    "narrows": "copies into a narrower dtype",
    "wrong": "gets wrong values",
    "later": "takes it, and fails or reads garbage later",
    "use!": "takes it, and its first operation ends the process",
    "drop!": "takes it, and ends the process when it lets go",
    "device": "only where it is built for that device",
    "memory": "sends it in the order of memory",
    "writes": "takes it as writable, though it is read-only",
    "sends": "sends it, and does not receive into it (BufferError)",
    "?": "not known",
}


@dataclass(frozen=True)
class Case:
    """One row."""

    name: str
    level: Level  # of the oddity that it is; none where it is only of interest to consumers
    holds: Callable[[Description], bool]
    why: Callable[[Description], str]  # a few words, after a verdict
    cells: str
    says: Callable[[Description], str] | None = None  # a sentence, for the oddity

    def cell(self, consumer: str) -> str:
        return self.cells.split()[COLUMNS.index(consumer)]

    def sentence(self, x: Description) -> str:
        return (self.says or self.why)(x)


def on(type_: int) -> Callable[[Description], bool]:
    """On a device of that type."""
    return lambda x: x.device is not None and x.device[0] == type_


def has_elements(x: Description) -> bool:
    return x.layout is not None and x.layout.size > 0
