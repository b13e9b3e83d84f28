# SPDX-License-Identifier: BSD-3-Clause
"""Attributes a failing exchange to the producer or to the consumer.

A consumer that raises is not always at fault: the producer may announce no device, describe other
values, or lose the exception in a destructor. The first functions examine the producer alone, in a
child process; assign() compares their answers with the failure, in the parent.
"""

from __future__ import annotations

import gc
import re
from numbers import Integral
from typing import Any, Callable

from .. import abi, elements
from ..children import Answer
from ..libraries import CASES, Case, Library, capsule_of
from .exchange import FAILED, library_row, make, use_memory_again
from .steps import tidy

# In the child process -----------------------------------------------------------------------------


class _Source:
    """An array of a library, and the object that it exports."""

    def __init__(self, producer: str, case: str) -> None:
        self.row: Library = library_row(producer)
        self.case: Case = CASES[case]
        self.module = self.row.load()
        self.array = make(self.row, self.module, self.case)
        self.exported = self.row.give(self.module, self.array)


def examine_export(producer: str, case: str) -> dict[str, Any]:
    """Returns what is wrong with an export, None where nothing is, and what is unusual about it."""
    exported = _Source(producer, case).exported
    fault: str | None
    if abi.is_capsule(exported):
        fault = "it exports capsules by a function, and its arrays have no __dlpack__"
    else:
        fault = None if hasattr(exported, "__dlpack__") else "its arrays have no __dlpack__"
    try:
        contents = abi.read(capsule_of(exported))
    except Exception:  # the producer refuses the case; the consumer receives this exception
        return {"fault": fault, "device": None, "unusual": []}
    return {
        "fault": fault or _fault_of_contents(contents, CASES[case]),
        "device": None if fault else _fault_of_device(exported),
        "unusual": _unusual(contents),
    }


def _fault_of_device(exported: Any) -> str | None:
    try:
        device = exported.__dlpack_device__()
    except Exception as error:
        return tidy(f"its __dlpack_device__() raises {type(error).__name__}: {error}")
    if len(device) == 2 and all(isinstance(part, Integral) for part in device):
        return None
    return tidy(f"its __dlpack_device__() returns {device!r}")


def _fault_of_contents(contents: abi.Contents, case: Case) -> str | None:
    if contents.dtype != elements.DTYPES[case.dtype][0]:
        return f"its capsule has the dtype {contents.dtype} for {case.dtype}"
    if case.name == "read-only" and not contents.flags & abi.READ_ONLY:
        kind = "legacy capsule cannot be" if contents.version is None else "capsule is not"
        return f"its {kind} marked as read-only"
    if contents.device != abi.CPU:
        return None
    try:
        described = elements.read(contents)
    except abi.Unreadable as error:
        return f"its capsule is not readable: {error}"
    is_right = elements.same_nested(described, case.values)
    return None if is_right else "its capsule describes other values"


def _unusual(contents: abi.Contents) -> list[str]:
    """Names the fields that some consumers do not support."""
    strides = contents.strides or ()
    names = {
        "byte_offset": contents.byte_offset != 0,
        "NULL strides": contents.strides_is_null and contents.ndim > 0,
        "negative strides": any(stride < 0 for stride in strides),
        "legacy": contents.version is None,
    }
    return [name for name, is_there in names.items() if is_there]


def loses_exceptions(producer: str, case: str) -> bool:
    """Whether the destructor of a capsule loses an exception that is pending. It may crash."""
    exported = _Source(producer, case).exported
    try:
        (exported.__dlpack__(), 1 / 0)
    except ZeroDivisionError:
        return False
    except BaseException:
        return True
    return True


def keeps_memory(producer: str, case: str) -> bool:
    """Whether a capsule keeps its memory after the array is freed."""
    source = _Source(producer, case)
    capsule = capsule_of(source.exported)
    source.array = source.exported = None
    gc.collect()
    junk = use_memory_again(source.row, source.module, source.case)
    kept = elements.same_nested(elements.read(abi.read(capsule)), source.case.values)
    del junk
    return kept


# In the parent ------------------------------------------------------------------------------------

_UNKNOWN_KEYWORD = re.compile(r"unexpected keyword argument '(max_version|dl_device|copy)'")
OLDER_PRODUCER = "an older producer has no such keyword, and a call without it would succeed"
LOST = "the destructor of its capsule loses the exception that is pending"
FREED = "its capsule does not keep the memory"

_NOTHING: dict[str, Any] = {"fault": None, "device": None, "unusual": []}

Ask = Callable[[Callable[..., Any]], Answer]


def assign(
    result: dict[str, Any], ask: Ask, with_device: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Returns a result with the side that is at fault, and the reason where it is not obvious.

    `ask` calls a function of this module in a child process, for the producer and the case;
    `with_device` repeats the exchange with the device that the producer should have announced.
    """
    result = dict(result)
    late = result.pop("late", False)
    if result["outcome"] not in FAILED or result.get("whose") == "dlbridge":
        return result
    answer = ask(examine_export)
    export = answer.value if answer.outcome == "returned" else _NOTHING
    if export["unusual"]:
        result["unusual"] = export["unusual"]
    said = result.get("said", "")
    if result["outcome"] == "refused" and _UNKNOWN_KEYWORD.search(said):
        return {**result, "whose": "consumer", "because": OLDER_PRODUCER}
    reason = export["fault"]
    if reason is None and result.get("whose") == "producer":
        return result
    reason = reason or _fault_by(said, late, ask)
    if reason is None and export["device"]:
        again = with_device()
        if again["outcome"] not in FAILED or again.get("said") != said:
            reason = export["device"]
    return {**result, "whose": "producer", "because": reason} if reason else result


def _fault_by(said: str, late: bool, ask: Ask) -> str | None:
    """Returns the fault of a producer that only shows in what follows an export."""
    if said.startswith("SystemError") and _is(ask(loses_exceptions), True):
        return LOST
    if late and _is(ask(keeps_memory), False):
        return FREED
    return None


def _is(answer: Answer, expected: bool) -> bool:
    """Whether a call returned this, or crashed, as the examined fault does in other places."""
    return answer.outcome == "crashed" or (
        answer.outcome == "returned" and answer.value is expected
    )
