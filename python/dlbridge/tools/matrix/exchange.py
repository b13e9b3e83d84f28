"""One exchange: an array of one library goes to another, and what comes of it. Runs in a child."""

from __future__ import annotations

import contextlib
import gc
import platform
from typing import Any

import dlbridge
from dlbridge.tools import abi, children, elements
from dlbridge.tools.libraries import CASES, LIBRARIES, Case, Library, new
from dlbridge.tools.matrix import values
from dlbridge.tools.matrix.steps import step, tidy

# What can come of an exchange, from best to worst, as a legend says it.
OUTCOMES = {
    "zero-copy": "the same memory arrives",
    "copied": "the values arrive, in other memory",
    "converted": "the numbers arrive, as another dtype",
    "refused": "one of the two raises an error, at once or when the array is read",
    "wrong": "other values arrive without an error, or change when the source goes",
    "hung": "no answer within the time limit",
    "crashed": "the process dies",
    "impossible": "the producer has no such array, or one side has no such role",
}
ARRIVED = ("zero-copy", "copied", "converted")
FAILED = ("refused", "wrong", "hung", "crashed")

ALIGNMENT = 64  # what XLA and Eigen ask of memory that they do not copy
MOST_TRIES = 64
MOST_SHOWN = 60  # characters of values that are wrong

# The ways that dlbridge can stand between, in the order in which they are tried. A copy that the
# producer makes may keep its layout; dlbridge's own is row-major.
ROADS = {
    "itself": "{function}(x)",
    "copied": "{function}(x, copy=True)",
    "copied by dlbridge": "from_dlpack({function}(x), copy=True)",
    "on the host": "{function}(x, device='cpu')",
}


def row(name: str) -> Library:
    """A library's row: of the table, or of one's own, named "module:row".

    Raises as children.find() does, and TypeError for what is no row.
    """
    if name in LIBRARIES:
        return LIBRARIES[name]
    found = children.find(name)
    if not isinstance(found, Library):
        raise TypeError(f"{name} is {type(found).__name__}; expected a Library")
    return found


def look(names: list[str]) -> dict[str, Any]:
    """What an environment has of these libraries; none is imported."""
    rows = {name: row(name) for name in names}
    return {
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "dlbridge": dlbridge.__version__,
        "libraries": {
            name: {"title": library.title, "version": library.version}
            for name, library in rows.items()
            if library.importable and (library.array or library.take)
        },
    }


def load(names: list[str]) -> dict[str, str]:
    """Imports libraries, and gives their versions.

    Raises what importing them raises, and for one whose device is not here what it says of that.
    """
    versions = {}
    for name in names:
        step("import", name)
        library = row(name)
        module = library.load()
        if library.device != abi.CPU:
            new(library, module, [0.0])
        said = library.version or getattr(module, "__version__", None)
        versions[name] = str(said or f"Python {platform.python_version()}")
    return versions


# Parts of an exchange ----------------------------------------------------------------------------


def _said(raised: BaseException) -> str:
    return tidy(f"{type(raised).__name__}: {raised}")


def _address(library: Library, module: Any, x: Any) -> int | None:
    if library.address is None:
        return None
    try:
        return int(library.address(module, x))
    except Exception:  # a library that cannot say is compared by its values alone
        return None


def _make(library: Library, module: Any, case: Case) -> Any:
    """The array of the case, 64-aligned where trying helps.

    JAX copies and TensorFlow aborts by alignment: it must not be chance which of them is seen. The
    case "unaligned" shows the other side. Raises whatever says that there is no such array.
    """
    kept: list[Any] = []  # or the next try would be given the same memory
    while True:
        made = case.make(library, module)
        address = _address(library, module, made)
        if address is None or address % ALIGNMENT == 0 or len(kept) > MOST_TRIES:
            return made
        kept += [made, bytes(600 + len(kept))]  # the bytes move malloc on, too


def _why_impossible(library: Library, module: Any, source: Any, case: Case) -> str | None:
    """Why an array is not the one of the case: a library may make another without a word."""
    dtype = values.dtype_of(source)
    if dtype is not None and dtype != case.dtype:
        return f"makes {dtype} where {case.dtype} is asked for"
    try:
        own = library.values(module, source)
    except Exception:  # it cannot read its own array; others may
        return None
    return None if values.same(own, case.values) else f"its own array holds {own!r}"


# What consumers are known to ask for: it tells whose error an error is.
_CALLS: tuple[dict[str, Any], ...] = (
    {},
    {"max_version": (1, 0)},
    {"max_version": (1, 0), "dl_device": None, "copy": None},
    {"stream": None},
    {"stream": -1},
)


def _says_so_itself(given: Any, said: str) -> bool:
    """Whether the producer says the same to whoever asks: then it is not the consumer's error."""
    export = getattr(given, "__dlpack__", None)
    if export is None:
        return not abi.is_capsule(given)
    for keywords in _CALLS:
        try:
            export(**keywords)
        except Exception as raised:
            if _said(raised) == said:
                return True
    return False


def _is_on_the_host(given: Any) -> bool:
    device = getattr(given, "__dlpack_device__", None)
    try:
        return device is None or int(device()[0]) == abi.CPU[0]
    except Exception:
        return True


# The exchange ------------------------------------------------------------------------------------


def exchange(producer: str, consumer: str, case: str, road: str | None = None) -> dict[str, Any]:
    """Hands one array over, and says what came of it; a road puts dlbridge between."""
    gives, takes = row(producer), row(consumer)
    if gives.array is None:
        return _impossible(f"{gives.title} gives no arrays away")
    if takes.take is None:
        return _impossible(f"{takes.title} takes no arrays")
    return _Exchange(gives, takes, CASES[case], road).run()


def _impossible(said: str) -> dict[str, Any]:
    return {"outcome": "impossible", "said": said}


class _Exchange:
    """The state of one exchange: only `source` keeps the source alive, and it is cleared."""

    def __init__(self, gives: Library, takes: Library, case: Case, road: str | None) -> None:
        self.gives, self.takes, self.case, self.road = gives, takes, case, road
        self.giver, self.taker = gives.load(), takes.load()
        self.source: Any = None
        self.how = ""  # what is called with dlbridge between

    def run(self) -> dict[str, Any]:
        step("make", self.gives.title)
        try:
            self.source = _make(self.gives, self.giver, self.case)
        except Exception as raised:
            return _impossible(_said(raised))
        why = _why_impossible(self.gives, self.giver, self.source, self.case)
        if why is not None:
            return _impossible(why)
        if self.road == "on the host" and _is_on_the_host(self.source):
            return _impossible("it is in the host's memory already")
        there = _address(self.gives, self.giver, self.source)
        step("take", self.takes.title)
        theirs: list[Any] = []
        came = self._hand_over(theirs) or self._examine(theirs[0], there)
        return {**came, "how": self.how} if self.road is not None else came

    def _hand_over(self, theirs: list[Any]) -> dict[str, Any] | None:
        """Appends what arrives, or says why nothing does."""
        assert self.takes.take is not None
        given: Any = None
        whose = "producer"
        try:
            given = self.gives.give(self.giver, self.source)
            whose = "dlbridge" if self.road else "producer"
            handed = self._handed(given)
            whose = "consumer"
            theirs.append(self.takes.take(self.taker, handed))
        except Exception as raised:
            said = _said(raised)
            if given is not None and _says_so_itself(given, said):
                whose = "producer"
            return {"outcome": "refused", "whose": whose, "said": said}
        return None

    def _handed(self, given: Any) -> Any:
        """What the consumer is handed."""
        if self.road is None:
            is_fit = not self.takes.takes_capsules or abi.is_capsule(given)
            return given if is_fit else given.__dlpack__()
        is_producer = abi.is_capsule(given) or hasattr(given, "__dlpack__")
        function = "from_dlpack" if is_producer else "as_tensor"
        self.how = ROADS[self.road].format(function=function)
        names = {"from_dlpack": dlbridge.from_dlpack, "as_tensor": dlbridge.as_tensor, "x": given}
        tensor = eval(self.how, names)  # what is tried is what is shown, word for word
        if not self.takes.takes_capsules:
            return tensor
        self.how = f"to_dlpack({self.how})"
        return dlbridge.to_dlpack(tensor)

    def _examine(self, theirs: Any, there: int | None) -> dict[str, Any]:
        """What arrived, read while its source is there, and when it has gone."""
        step("read", self.takes.title)
        try:
            wrong = self._differs(theirs, "arrives as")
            if wrong is not None:
                return wrong
            came = self._kind(theirs, there)
            if self.case.name == "read-only" and self._can_write_through(theirs):
                came["mark"] = "writable although read-only"
            self.source = None
            gc.collect()
            junk = _use_memory_again(self.gives, self.giver, self.case)
            step("read again", self.takes.title)
            wrong = self._differs(theirs, "once its source has gone, it is")
            del junk
        except Exception as raised:
            said = f"arrives, and cannot be read: {_said(raised)}"
            return {"outcome": "refused", "whose": "consumer", "said": said}
        if wrong is not None:
            return wrong
        if self.takes.compute is not None:
            step("use", self.takes.title)
            with contextlib.suppress(Exception):  # not of this dtype; only how it ends is asked
                self.takes.compute(self.taker, theirs)
        step("drop", self.takes.title)
        return came

    def _differs(self, theirs: Any, said: str) -> dict[str, Any] | None:
        got = self.takes.values(self.taker, theirs)
        sent, in_memory = self.case.values, self.case.in_memory
        # As numbers; or as bytes, in the order of memory, which is all that a buffer of MPI's is.
        bytes_of = sent if in_memory is None else in_memory
        if values.same(got, sent) or got == list(elements.encode(bytes_of, self.case.dtype)):
            return None
        shown = repr(got)
        shown = shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}..."
        return {"outcome": "wrong", "said": f"{said} {shown}"}

    def _kind(self, theirs: Any, there: int | None) -> dict[str, Any]:
        """Which way right values came."""
        dtype = values.dtype_of(theirs) or values.looks_like(
            self.takes.values(self.taker, theirs), self.case.dtype
        )
        if dtype != self.case.dtype:
            return {"outcome": "converted", "said": f"arrives as {dtype}"}
        here = _address(self.takes, self.taker, theirs)
        shared = values.empty(self.case.values) or (here is not None and here == there)
        return {"outcome": "zero-copy" if shared else "copied"}

    def _can_write_through(self, theirs: Any) -> bool:
        """Whether writing to what arrived changes the source; it is as it was afterwards."""

        def first() -> Any:
            return values.first(self.gives.values(self.giver, self.source))

        before = first()
        key = (0,) * values.rank(self.case.values)
        try:
            theirs[key] = before + 1
        except Exception:  # that is how it ought to be
            return False
        changed = bool(first() != before)
        theirs[key] = before
        return changed


def _use_memory_again(library: Library, module: Any, case: Case) -> list[Any]:
    """Arrays of the same size and other values: whoever reads freed memory is to see them."""
    try:
        return [new(library, module, values.others(case.values), case.dtype) for _ in range(8)]
    except Exception:  # it makes them another way; nothing is lost but sharpness
        return []
