# SPDX-License-Identifier: BSD-3-Clause
"""One exchange: passes an array of one library to another one. Runs in a child process."""

from __future__ import annotations

import contextlib
import gc
import platform
import sys
from dataclasses import replace
from typing import Any

from .. import abi, children, core, elements, output
from ..libraries import (
    CASES,
    LIBRARIES,
    Case,
    Library,
    capsule_of,
    new,
    read_only_of,
)
from ..marks import mark_read_only, read_only_marks
from . import values
from .steps import step, tidy

# The outcomes of an exchange, from best to worst, with the text of the legend.
OUTCOMES = {
    "zero-copy": "the consumer uses the same memory",
    "copied": "the values arrive in other memory",
    "unexamined": "nothing shows whether read-only memory stays read-only",
    "refused": "one of the two raises an error, at once or when the array is read",
    "converted": "another dtype arrives without an error, and with it other values",
    "writable": "read-only memory arrives as writable; a library without read-only arrays breaks "
    "no rule by it, but the mark is lost",
    "wrong": "other values or another shape arrive without an error, or change when the source is "
    "freed",
    "hung": "no answer within the time limit",
    "crashed": "the process crashes",
    "impossible": "the producer has no such array, or a library lacks this role or is unusable",
}
ARRIVED = ("zero-copy", "copied")
FAILED = ("refused", "converted", "writable", "wrong", "hung", "crashed")

ALIGNMENT = 64  # which XLA and Eigen require of memory that they do not copy
MOST_TRIES = 1000  # a heap with many free blocks of this size has few that are aligned
NO_READ_ONLY = (
    "{}: read-only arrays are not examined, as its row has no function read_only, and its arrays "
    "no attribute for it"
)
NO_MARK = "{}: nothing shows whether its arrays are read-only: no attribute, assignment or flag"
MOST_SHOWN = 60  # characters of wrong values
STANDARD = getattr(sys, "stdlib_module_names", ("array",))  # from Python 3.10 on

# The ways to convert an array with dlbridge, in the order in which they are tried. A copy that the
# producer makes may preserve its layout; dlbridge's own is row-major.
CONVERSIONS = {
    "itself": "{function}(x)",
    "copied": "{function}(x, copy=True)",
    "copied by dlbridge": "from_dlpack({function}(x), copy=True)",
    "on the host": "{function}(x, device='cpu')",
}


class _Unmarkable(Exception):
    """An array has no attribute by which it can be marked as read-only."""


def _by_attribute(module: Any, x: Any) -> Any:
    """Marks an array of a row without a function for it."""
    if not mark_read_only(x):
        raise _Unmarkable
    return x


def library_row(name: str) -> Library:
    """Returns a library's row: of the table, or a user's row named "module:row".

    Raises as children.find() does, and TypeError for another object.
    """
    if name in LIBRARIES:
        return LIBRARIES[name]
    result = children.find(name)
    if not isinstance(result, Library):
        raise TypeError(
            f"{name} is {type(result).__name__}; expected a {Library.__module__}.Library"
        )
    return replace(result, read_only=read_only_of(result) or _by_attribute)


def describe(names: list[str]) -> dict[str, Any]:
    """Describes an environment and which libraries it has; none is imported."""
    rows = {name: library_row(name) for name in names}
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "dlbridge": core.version(),
        "libraries": {
            name: {"title": library.title, "version": library.version}
            for name, library in rows.items()
            if library.importable and (library.array or library.take)
        },
    }


def load(names: list[str]) -> dict[str, str]:
    """Imports libraries, and returns their versions.

    Passes exceptions of the imports on, and of creating an array where the library needs a device.
    """
    versions = {}
    for name in names:
        step("import", name)
        library = library_row(name)
        module = library.load()
        if library.device != abi.CPU:
            new(library, module, [0.0])
        text = library.version or getattr(module, "__version__", None) or "unknown"
        if text == "unknown" and library.module in STANDARD:
            text = f"Python {platform.python_version()}"
        versions[name] = output.one_line(str(text))
    return versions


# Steps of an exchange ----------------------------------------------------------------------------


def _error_text(error: BaseException) -> str:
    return tidy(f"{type(error).__name__}: {error}")


def _address(library: Library, module: Any, x: Any) -> int | None:
    if library.address is None:
        return None
    try:
        return int(library.address(module, x))
    except Exception:  # such a library is compared by its values alone
        return None


def make(library: Library, module: Any, case: Case) -> Any:
    """Creates the array of the case, aligned to 64 bytes if repetition helps.

    JAX copies and TensorFlow aborts depending on alignment, so the result must not depend on
    chance. The case "unaligned" covers the other alignment. Passes the library's exceptions on.
    """
    occupied: list[Any] = []  # keeps the memory occupied, so that the next try gets other memory
    while True:
        array = case.make(library, module)
        address = _address(library, module, array)
        if address is None or address % ALIGNMENT == 0 or len(occupied) > MOST_TRIES:
            return array
        occupied += [array, bytes(600 + len(occupied))]  # the bytes also move malloc on


def _why_impossible(library: Library, module: Any, source: Any, case: Case) -> str | None:
    """Why an array differs from the case: a library may create another one without an error."""
    dtype = values.dtype_of(source)
    if dtype is not None and dtype != case.dtype:
        return f"creates {dtype} where {case.dtype} is requested"
    try:
        own = library.values(module, source)
    except Exception:  # it cannot read its own array; consumers may
        return None
    return None if elements.same_nested(own, case.values) else f"its own array holds {own!r}"


# The calls of known consumers, to attribute an error to the producer or to the consumer.
_CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"max_version": (1, 0)},
    {"max_version": (1, 0), "dl_device": None, "copy": None},
    {"stream": None},
    {"stream": -1},
)


def _raises_it_itself(exported: Any, text: str) -> bool:
    """Whether the producer itself raises this error for some call."""
    export = getattr(exported, "__dlpack__", None)
    if export is None:
        return not abi.is_capsule(exported)
    for keywords in _CALLS:
        try:
            export(**keywords)
        except Exception as error:
            if _error_text(error) == text:
                return True
    return False


def _is_on_the_host(exported: Any) -> bool:
    device = getattr(exported, "__dlpack_device__", None)
    try:
        return device is None or int(device()[0]) == abi.CPU[0]
    except Exception:
        return True


class _OnlyDLPack:
    """Shows a producer's methods of DLPack, and none of its other protocols."""

    def __init__(self, producer: Any) -> None:
        self._producer = producer

    def __dlpack__(self, **keywords: Any) -> Any:
        return self._producer.__dlpack__(**keywords)

    def __dlpack_device__(self) -> Any:
        return self._producer.__dlpack_device__()


class _WithDevice(_OnlyDLPack):
    """Announces the device that is in the capsule, for a producer that announces none."""

    def __dlpack_device__(self) -> Any:
        return abi.read(capsule_of(self._producer)).device


def strides_of(exported: Any) -> tuple[int, ...] | None:
    """Returns the strides of an exported tensor; None where they are NULL or it is refused."""
    try:
        return abi.read(capsule_of(exported)).strides
    except Exception:
        return None


# The exchange ------------------------------------------------------------------------------------


def exchange(
    producer: str,
    consumer: str,
    case: str,
    conversion: str | None = None,
    with_device: bool = False,
) -> dict[str, Any]:
    """Passes one array to a consumer, optionally converted by dlbridge, and returns the outcome.

    with_device: the device that the producer announces is replaced by the one in its capsule.
    """
    producer_row, consumer_row = library_row(producer), library_row(consumer)
    if producer_row.array is None:
        return _impossible(f"{producer_row.title} exports no arrays")
    if consumer_row.take is None:
        return _impossible(f"{consumer_row.title} imports no arrays")
    return _Exchange(producer_row, consumer_row, CASES[case], conversion, with_device).run()


def _impossible(text: str) -> dict[str, Any]:
    return {"outcome": "impossible", "said": text}


class _Exchange:
    """The state of one exchange: only `source` keeps the source alive until it is cleared."""

    def __init__(
        self,
        producer_row: Library,
        consumer_row: Library,
        case: Case,
        conversion: str | None,
        with_device: bool,
    ) -> None:
        self.producer_row, self.consumer_row, self.case = producer_row, consumer_row, case
        self.conversion, self.with_device = conversion, with_device
        self.producer_module, self.consumer_module = producer_row.load(), consumer_row.load()
        self.source: Any = None
        self.call = ""  # the call of dlbridge, where it converts the array
        self.strides: tuple[int, ...] | None = None  # of the tensor, for a consumer of bytes

    def run(self) -> dict[str, Any]:
        step("make", self.producer_row.title)
        try:
            self.source = make(self.producer_row, self.producer_module, self.case)
        except _Unmarkable:
            return {"outcome": "unexamined", "said": NO_READ_ONLY.format(self.producer_row.title)}
        except Exception as error:
            return _impossible(_error_text(error))
        reason = _why_impossible(self.producer_row, self.producer_module, self.source, self.case)
        if reason is not None:
            return _impossible(reason)
        if self.conversion == "on the host" and _is_on_the_host(self.source):
            return _impossible("it is already in host memory")
        address = _address(self.producer_row, self.producer_module, self.source)
        step("take", self.consumer_row.title)
        imported: list[Any] = []
        result = self._import_array(imported) or self._examine(imported[0], address)
        return {**result, "how": self.call} if self.conversion is not None else result

    def _import_array(self, imported: list[Any]) -> dict[str, Any] | None:
        """Appends the consumer's array, or returns why there is none."""
        assert self.consumer_row.take is not None
        exported: Any = None
        side = "producer"
        try:
            exported = self.producer_row.give(self.producer_module, self.source)
            side = "dlbridge" if self.conversion else "producer"
            argument = self._argument(exported)
            side = "consumer"
            if self.consumer_row.reads_bytes:
                self.strides = strides_of(argument)
            argument = self._as_shown(argument)
            imported.append(self.consumer_row.take(self.consumer_module, argument))
        except Exception as error:
            text = _error_text(error)
            if exported is not None and _raises_it_itself(exported, text):
                side = "producer"
            return {"outcome": "refused", "whose": side, "said": text}
        return None

    def _argument(self, exported: Any) -> Any:
        """Returns the argument of the consumer."""
        if self.conversion is None:
            is_fit = not self.consumer_row.takes_capsules or abi.is_capsule(exported)
            return exported if is_fit else exported.__dlpack__()
        import dlbridge

        is_producer = abi.is_capsule(exported) or hasattr(exported, "__dlpack__")
        function = "from_dlpack" if is_producer else "as_tensor"
        self.call = CONVERSIONS[self.conversion].format(function=function)
        names = {
            "from_dlpack": dlbridge.from_dlpack,
            "as_tensor": dlbridge.as_tensor,
            "x": exported,
        }
        tensor = eval(self.call, names)  # the report shows exactly the call that was made
        if not self.consumer_row.takes_capsules:
            return tensor
        self.call = f"to_dlpack({self.call})"
        return dlbridge.to_dlpack(tensor)

    def _as_shown(self, argument: Any) -> Any:
        """Returns what the consumer sees of its argument."""
        if abi.is_capsule(argument):
            return argument
        if self.with_device:
            return _WithDevice(argument)
        return _OnlyDLPack(argument) if self.consumer_row.reads_other_protocols else argument

    def _examine(self, imported: Any, address: int | None) -> dict[str, Any]:
        """Reads the consumer's array, before and after its source is freed."""
        step("read", self.consumer_row.title)
        try:
            failure = self._differs(imported, "arrives as")
            if failure is not None:
                return failure
            result = self._kind(imported, address)
            if self.case.name == "read-only" and result["outcome"] == "zero-copy":
                result = self._access(imported)
            self.source = None
            gc.collect()
            junk = use_memory_again(self.producer_row, self.producer_module, self.case)
            step("read again", self.consumer_row.title)
            failure = self._differs(imported, "after its source is freed, it is")
            del junk
        except Exception as error:
            text = f"arrives, but reading it raises {_error_text(error)}"
            return {"outcome": "refused", "whose": "consumer", "said": text}
        if failure is not None:
            return {**failure, "late": True}
        if self.consumer_row.compute is not None:
            step("use", self.consumer_row.title)
            with contextlib.suppress(
                Exception
            ):  # only crashes matter; the dtype may not support it
                self.consumer_row.compute(self.consumer_module, imported)
        step("drop", self.consumer_row.title)
        return result

    def _differs(self, imported: Any, text: str) -> dict[str, Any] | None:
        read = self.consumer_row.values(self.consumer_module, imported)
        dtype = self._other_dtype(imported, read)
        if dtype is not None:
            return {"outcome": "converted", "whose": "consumer", "said": self._why(dtype)}
        expected = self._expected()
        if elements.same_nested(read, expected):
            return None
        found = values.difference(read, expected)
        listing = repr(read)
        listing = listing if len(listing) <= MOST_SHOWN else f"{listing[:MOST_SHOWN]}..."
        return {"outcome": "wrong", "whose": "consumer", "said": f"{text} {found or listing}"}

    def _other_dtype(self, imported: Any, read: Any) -> str | None:
        """Returns the dtype of the consumer's array, where it is another one."""
        if self.consumer_row.reads_bytes:
            return None
        dtype = values.dtype_of(imported) or values.looks_like(read, self.case.dtype)
        return None if dtype == self.case.dtype else dtype

    def _why(self, dtype: str) -> str:
        reason = self.consumer_row.why_converted(self.consumer_module, self.case.dtype)
        return f"{self.case.dtype} becomes {dtype}" + (f", as {reason}" if reason else "")

    def _expected(self) -> Any:
        """Returns the values; for a consumer of bytes, the bytes in the order of memory."""
        if not self.consumer_row.reads_bytes:
            return self.case.values
        numbers = self.case.values
        if self.strides is not None:
            numbers = values.in_memory_order(numbers, self.strides)
        return list(elements.encode(numbers, self.case.dtype))

    def _kind(self, imported: Any, address: int | None) -> dict[str, Any]:
        """Returns the outcome where the values and the dtype are right."""
        here = _address(self.consumer_row, self.consumer_module, imported)
        shared = 0 in elements.shape_of(self.case.values) or (here is not None and here == address)
        if shared:
            return {"outcome": "zero-copy"}
        return {"outcome": "copied", **self._unknown_address(imported)}

    def _unknown_address(self, imported: Any) -> dict[str, str]:
        """Returns why an address is unknown, where the same memory may count as a copy."""
        for row, module, x in (
            (self.producer_row, self.producer_module, self.source),
            (self.consumer_row, self.consumer_module, imported),
        ):
            if row.address is None:
                return {"said": f"{row.title} tells no address: the same memory counts as a copy"}
            try:
                row.address(module, x)
            except Exception as error:
                return {"said": f"the address of {row.title} raises {_error_text(error)}"}
        return {}

    def _access(self, imported: Any) -> dict[str, Any]:
        """Returns the outcome for read-only memory that the consumer shares."""
        if self._can_write_through(imported):
            return _lost("writing to its array changes the source")
        marks = read_only_marks(imported)
        writable = [road for road, mark in marks.items() if not mark]
        if writable:
            return _lost(f"{writable[0]} of its array says that it is writable")
        is_assignable = hasattr(type(imported), "__setitem__")  # and has refused it
        if marks or is_assignable or self.consumer_row.immutable:
            return {"outcome": "zero-copy"}
        exported = self._flag_of_export(imported)
        if exported is None:
            return {"outcome": "unexamined", "said": NO_MARK.format(self.consumer_row.title)}
        return {"outcome": "zero-copy"} if exported else _lost("it exports its array as writable")

    def _flag_of_export(self, imported: Any) -> bool | None:
        """Returns the read-only flag of the consumer's own export; None for one without flags."""
        try:
            given = self.consumer_row.give(self.consumer_module, imported)
            contents = abi.read(capsule_of(given))
        except Exception:
            return None
        return None if contents.version is None else bool(contents.flags & abi.READ_ONLY)

    def _can_write_through(self, imported: Any) -> bool:
        """Whether writing to the consumer's array changes the source; the change is undone."""

        def first() -> Any:
            return values.first(self.producer_row.values(self.producer_module, self.source))

        before = first()
        key = (0,) * len(elements.shape_of(self.case.values))
        try:
            imported[key] = before + 1
        except Exception:  # the expected result
            return False
        changed = bool(first() != before)
        imported[key] = before
        return changed


def _lost(how: str) -> dict[str, Any]:
    said = f"the read-only mark is lost: {how}"
    return {"outcome": "writable", "whose": "consumer", "said": said}


def use_memory_again(library: Library, module: Any, case: Case) -> list[Any]:
    """Creates arrays of the same size and other values, to overwrite memory that was freed."""
    try:
        return [new(library, module, values.different(case.values), case.dtype) for _ in range(8)]
    except Exception:  # the library creates such arrays another way; the check is weaker
        return []
