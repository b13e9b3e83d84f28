"""The sentences of the standards that known defects cite and that no rule of conformance cites."""

from __future__ import annotations

from dlbridge.tools.conformance.rules.model import ARRAY_API, Text
from dlbridge.tools.conformance.rules.texts import HEADER

NULL_CONTEXT = Text(
    HEADER,
    "0.2",
    "DLManagedTensor.manager_ctx",
    "the context of the original host framework of DLManagedTensor in which DLManagedTensor is "
    "used in the framework. It can also be NULL.",
    "may",
)
TABLE_STREAM_FAILURE = Text(
    HEADER,
    "1.3",
    "DLPackCurrentWorkStream",
    "0 on success, -1 on failure with a Python exception set.",
    "must",
)
# Why the array API is a recommendation, and no must, for a library that does not claim it.
ONLY_DLPACK = Text(
    ARRAY_API,
    "2021.12",
    "Data interchange mechanisms",
    "Python libraries that want to implement only DLPack support are recommended to do so using "
    "the same syntax and semantics as outlined below.",
    "should",
)
