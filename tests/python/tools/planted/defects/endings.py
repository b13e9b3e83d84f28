# SPDX-License-Identifier: BSD-3-Clause
"""Plants calls that end the process, and calls that never end: one row for each call and ending."""

from __future__ import annotations

import os
import signal
import time
from typing import Any, Callable, NoReturn

from planted import consumer, producer
from planted.array import Array, row_major
from planted.native import Memory
from planted.planting import change, defect, instead_of

Call = Callable[..., Any]
Holds = Callable[[Array, "dict[str, Any]"], bool]


def crashes(*arguments: Any, **keywords: Any) -> NoReturn:
    os.kill(os.getpid(), signal.SIGSEGV)
    raise AssertionError("the signal is pending")


def hangs(*arguments: Any, **keywords: Any) -> NoReturn:
    while True:
        time.sleep(1)


def spins(*arguments: Any, **keywords: Any) -> NoReturn:
    while True:
        pass


ENDINGS: tuple[Callable[..., NoReturn], ...] = (crashes, hangs, spins)

# The requests that end, and the rule that reports them.
REQUESTS: dict[str, tuple[str, Holds]] = {
    "copy_true": ("P-24", lambda array, words: words.get("copy") is True),
    "copy_false": ("P-23", lambda array, words: words.get("copy") is False),
    "versioned": ("P-05", lambda array, words: words.get("max_version") is not None),
    "its_device": ("P-26", lambda array, words: words.get("dl_device") == producer.CPU),
    "size_0": ("P-19", lambda array, words: array.size == 0 and array.base is None),
    "rank_0": ("P-20", lambda array, words: array.ndim == 0 and array.base is None),
    "read_only": ("P-22", lambda array, words: array.readonly and array.base is None),
    "of_int16": ("P-16", lambda array, words: array.dtype == "int16"),
    "backwards": ("P-38", lambda array, words: min(array.strides, default=0) < 0),
}
# Other functions that end, and the rule.
FUNCTIONS: dict[str, tuple[str, Any, str]] = {
    "device": ("P-02", Array, "__dlpack_device__"),
    "import": ("C-17", consumer, "take"),
}


def _register(rule: str, name: str, text: str, plant_it: Callable[[], None]) -> None:
    plant_it.__name__, plant_it.__doc__ = name, text
    defect(rule, *(["C-01"] if rule == "C-17" else []))(plant_it)


def _request_that_ends(holds: Holds, ending: Callable[..., NoReturn]) -> Callable[[], None]:
    def end(original: Call, array: Array, **words: Any) -> Any:
        return ending() if holds(array, words) else original(array, **words)

    return lambda: change(producer, "dlpack", end)


def _function_that_ends(
    owner: Any, function: str, ending: Callable[..., NoReturn]
) -> Callable[[], None]:
    return lambda: setattr(owner, function, ending)


for _ending in ENDINGS:
    _how = _ending.__name__
    for _name, (_rule, _holds) in REQUESTS.items():
        _register(
            _rule,
            f"{_name}_{_how}",
            f"A request {_how}: {_name}.",
            _request_that_ends(_holds, _ending),
        )
    for _name, (_rule, _owner, _function) in FUNCTIONS.items():
        _register(
            _rule,
            f"{_name}_{_how}",
            f"{_function} {_how}.",
            _function_that_ends(_owner, _function, _ending),
        )


class _Crashing(Memory):
    def release(self) -> None:
        crashes()


@defect("C-10", "*")
@instead_of(consumer, "read_strides")
def import_of_strides_crashes(
    original: Call, tensor: Any, shape: tuple[int, ...], *others: Any
) -> Any:
    """A tensor that is not row-major ends the process."""
    strides = original(tensor, shape, *others)
    return strides if strides == row_major(shape) else crashes()


@defect("C-07", "*")
def dropped_result_crashes() -> None:
    """The end of a result ends the process."""
    change(consumer, "own", lambda original, managed, address: _Crashing(address, 0))
