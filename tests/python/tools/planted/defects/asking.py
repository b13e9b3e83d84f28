# SPDX-License-Identifier: BSD-3-Clause
"""Defects in how from_dlpack asks a producer, and in what it does with the answer."""

from __future__ import annotations

import ctypes as C
import time
from typing import Any

from planted import consumer, library, native
from planted.array import Array, row_major
from planted.native import LEGACY, STRUCTS, USED, VERSIONED
from planted.planting import change, defect, instead_of, through

# Keywords ----------------------------------------------------------------------------------------


def _keywords(wrong: Any) -> None:
    """Replaces the keywords of a request: wrong(words) gets the right ones."""
    change(consumer, "keywords", lambda original, *asked: wrong(original(*asked)))


def _from_dlpack(wrong: Any) -> None:
    """Replaces the function of the library: wrong(whole, x, device=..., copy=...)."""
    whole = library.from_dlpack

    def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        return wrong(whole, x, device, copy)

    library.from_dlpack = from_dlpack


@defect("C-02")
def version_as_a_number() -> None:
    """max_version is passed as the number 1."""
    _keywords(lambda words: {**words, "max_version": 1})


@defect("S-02", known=True)
def stream_of_no_order() -> None:
    """stream=-1 is passed to every producer."""
    _keywords(lambda words: {**words, "stream": -1})


@defect("S-01")
def stream_1_for_the_cpu() -> None:
    """stream=1, the default stream of CUDA, is passed to producers on the CPU."""
    _keywords(lambda words: {**words, "stream": 1})


@defect("S-11")
def no_keyword_copy() -> None:
    """from_dlpack has the keyword device, and not copy."""
    whole = library.from_dlpack

    def short(x: Any, /, *, device: Any = None) -> Array:
        return whole(x, device=device)

    library.from_dlpack = short  # type: ignore[assignment]


@defect("S-23")
def device_as_text() -> None:
    """The text "cpu" is passed as dl_device."""
    _keywords(lambda words: {**words, "dl_device": "cpu"} if "dl_device" in words else words)


@defect("S-14")
def copy_true_forgotten_after_the_fallback() -> None:
    """copy=True shares the memory of a producer without the keyword."""
    change(consumer, "request", lambda original, x, words: (original(x, words)[0], True))


@defect("S-14")
@through(_keywords)
def copy_true_not_passed_with_a_device(words: dict[str, Any]) -> Any:
    """copy=True is neither passed on nor obeyed where device is passed too."""
    return {k: v for k, v in words.items() if k != "copy" or not v or "dl_device" not in words}


@defect("C-19", "S-15")
def copy_false_not_passed() -> None:
    """copy=False is not passed to a producer that has the keyword."""
    _keywords(lambda words: {k: v for k, v in words.items() if k != "copy" or v})


def _copy_where(where: Any) -> None:
    """Copies what was imported with copy=False, where a condition holds: where(array, device)."""

    def from_dlpack(original: Any, x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
        array: Array = original(x, device=device, copy=copy)
        return array.copy() if copy is False and where(array, device) else array

    change(consumer, "from_dlpack", from_dlpack)


@defect("C-19")
def copy_false_copies_what_is_not_compact() -> None:
    """copy=False copies a tensor that is not row-major."""
    _copy_where(lambda array, device: array.strides != row_major(array.shape))


@defect("C-19")
def copy_false_copies_read_only_memory() -> None:
    """copy=False copies read-only memory, to have a writable array."""
    _copy_where(lambda array, device: array.readonly)


@defect("C-19")
def copy_false_copies_with_a_device() -> None:
    """copy=False copies where device is passed too."""
    _copy_where(lambda array, device: device is not None)


@defect("S-15")
@instead_of(consumer, "call")
def copy_false_raises_key_error_with_a_device(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """A refused copy raises KeyError where device is passed too."""
    try:
        return original(x, words)
    except BufferError as error:
        if words.get("copy") is False and "dl_device" in words:
            raise KeyError("copy") from error
        raise


@defect("S-15", "C-18", "C-19")
@through(_from_dlpack)
def copy_false_returns_none(whole: Any, x: Any, device: Any, copy: Any) -> Any:
    """Where a producer must copy, and copy=False, None is returned."""
    try:
        return whole(x, device=device, copy=copy)
    except BufferError:
        if copy is False:
            return None
        raise


# Errors of the producer --------------------------------------------------------------------------


def _retry_on(errors: type[Exception]) -> None:
    def request(original: Any, x: Any, words: dict[str, Any]) -> Any:
        try:
            return original(x, words)
        except errors:
            return consumer.call(x, {}), False

    change(consumer, "request", request)


@defect("C-18", "S-15", "C-19", known=True)
def retries_after_buffer_error() -> None:
    """A BufferError leads to a call without keywords."""
    _retry_on(BufferError)


@defect("C-18")
def retries_after_value_error() -> None:
    """A ValueError leads to a call without keywords."""
    _retry_on(ValueError)


@defect("S-13")
@instead_of(consumer, "call")
def own_text_for_errors(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """A BufferError of the producer becomes another BufferError, without its text."""
    try:
        return original(x, words)
    except BufferError:
        raise BufferError("the object cannot be imported") from None


@defect("S-13", "C-18", "C-19")
@instead_of(consumer, "call")
def value_errors_replaced(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """Any exception of the producer that is no TypeError becomes a TypeError."""
    try:
        return original(x, words)
    except (ValueError, RuntimeError, BufferError) as error:
        raise TypeError(f"cannot import: {error}") from None


@defect("S-13")
@through(_from_dlpack)
def errors_end_in_an_empty_array(whole: Any, x: Any, device: Any, copy: Any) -> Any:
    """An exception of the producer is printed, and an empty array returned."""
    try:
        return whole(x, device=device, copy=copy)
    except (RuntimeError, ValueError):
        return library.make((0,))


@defect("S-12")
@instead_of(consumer, "call")
def missing_method_is_a_value_error(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """An object without __dlpack__ raises ValueError."""
    if not hasattr(x, "__dlpack__"):
        raise ValueError("expected an array")
    return original(x, words)


@defect("S-09", "C-18", "S-13", "C-19")
@instead_of(consumer, "call")
def methods_of_the_base_class(original: Any, x: Any, words: dict[str, Any]) -> Any:
    """__dlpack__ is looked up in the last class before object, and not in the object's own."""
    for kind in type(x).__mro__[-2::-1]:
        if "__dlpack__" in vars(kind):
            return vars(kind)["__dlpack__"](x, **words)
    return original(x, words)


@defect("S-09")
def own_arrays_taken_directly() -> None:
    """An object of the library's type, or of a subclass, is returned as it is.

    Without an exchange table, by which its type might be read.
    """
    del Array.__dlpack_c_exchange_api__  # type: ignore[attr-defined]

    def from_dlpack(original: Any, x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        return x if isinstance(x, Array) and not copy else original(x, device=device, copy=copy)

    change(consumer, "from_dlpack", from_dlpack)


# The capsule -------------------------------------------------------------------------------------


def _refuse_name(refused: bytes, where: Any = lambda: True) -> None:
    def struct_name(original: Any, capsule: Any) -> Any:
        name = original(capsule)
        if name == refused and where():
            raise BufferError(f"capsules of the name {refused!r} are not supported")
        return name

    change(consumer, "struct_name", struct_name)


def _last_words() -> dict[str, Any]:
    """Returns the keywords of the last call."""
    last: dict[str, Any] = {}

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        last.clear()
        last.update(words)
        return original(x, words)

    change(consumer, "call", call)
    return last


@defect("C-01", "C-03", known=True)
def no_legacy() -> None:
    """Legacy capsules are refused."""
    _refuse_name(LEGACY)


@defect("C-17", known=True)
def no_versioned() -> None:
    """Versioned capsules are requested and refused."""
    _refuse_name(VERSIONED)


@defect("C-03")
def legacy_answer_refused() -> None:
    """A legacy capsule is refused where max_version was passed."""
    last = _last_words()
    _refuse_name(LEGACY, lambda: "max_version" in last)


@defect("C-01")
def no_second_call() -> None:
    """A producer without the keywords gets no second call."""
    change(consumer, "request", lambda original, x, words: (consumer.call(x, words), True))


@defect("C-17")
@instead_of(consumer, "check_version")
def version_1_0_refused(original: Any, major: int, minor: int) -> None:
    """A managed tensor of version 1.0, older than the requested one, is refused."""
    original(major, minor)
    if (major, minor) < (1, 1):
        raise BufferError(f"expected DLPack 1.1 or newer; got {major}.{minor}")


@defect("C-03", "C-07", "C-01", "C-31", known=True)
def request_decides() -> None:
    """The request determines the struct: a legacy capsule for max_version is read as versioned."""
    last = _last_words()

    def take(original: Any, capsule: Any) -> Array:
        name = consumer.struct_name(capsule)
        consumer.use(capsule, name)
        address = native.capsule_pointer(capsule, USED[name])
        return consumer.adopt(address, VERSIONED if "max_version" in last else LEGACY)

    change(consumer, "take", take)


def _fresh_name(rename: Any) -> None:
    """Replaces the name that is read from a capsule."""

    def take(original: Any, capsule: Any) -> Array:
        if not isinstance(capsule, native.capsule_type):
            consumer.struct_name(capsule)
        own = native.capsule_name(capsule)
        name = rename(own)
        if name not in STRUCTS:
            raise BufferError(f"expected a fresh capsule; its name is {own!r}")
        address = native.capsule_pointer(capsule, own)
        native.rename_capsule(capsule, USED[name])
        return consumer.adopt(address, name)

    change(consumer, "take", take)


@defect("C-06", "X-10")
def used_legacy_capsule_accepted() -> None:
    """A legacy capsule that was consumed is consumed again."""
    _fresh_name(lambda name: LEGACY if name == USED[LEGACY] else name)


@defect("C-06")
@through(_fresh_name)
def any_name_that_begins_right(name: bytes | None) -> Any:
    """The first eight letters of the name decide: dltensor_v9 is read as the versioned struct."""
    if not name or not name.startswith(LEGACY):
        return name
    return VERSIONED if name.startswith(LEGACY + b"_") else LEGACY


@defect("C-06")
def no_name_is_legacy() -> None:
    """A capsule without a name is read as the legacy struct."""
    _fresh_name(lambda name: LEGACY if name is None else name)


@defect("C-06", known=True)
@instead_of(consumer, "take")
def other_objects_read_as_capsules(original: Any, capsule: Any) -> Any:
    """An object that is no capsule is read as one."""
    if not isinstance(capsule, native.capsule_type):
        field = id(capsule) + 16  # of a capsule's pointer
        address = C.c_size_t.from_address(field).value
        return consumer.adopt(address, LEGACY)
    return original(capsule)


def _renames(legacy: bytes, versioned: bytes) -> None:
    """Replaces the names that consumed capsules get."""

    def take(original: Any, capsule: Any) -> Any:
        name = versioned if consumer.struct_name(capsule) == VERSIONED else legacy
        result = original(capsule)
        native.rename_capsule(capsule, name)  # a name that this function keeps
        return result

    change(consumer, "take", take)


@defect("C-20", "C-07", "X-08", "X-09", "X-10", "X-03")
def legacy_not_renamed() -> None:
    """A legacy capsule is not renamed, and frees the tensor a second time."""
    _renames(LEGACY, USED[VERSIONED])


@defect("C-20")
def versioned_gets_the_legacy_name() -> None:
    """A versioned capsule is renamed to used_dltensor."""
    _renames(USED[LEGACY], USED[LEGACY])


@defect("C-20")
def renamed_to_its_own_word() -> None:
    """A consumed capsule is renamed to "consumed"."""
    _renames(b"consumed", b"consumed")


@defect("X-09", known=True)
@instead_of(consumer, "use")
def racing(original: Any, capsule: Any, name: bytes) -> Any:
    """The name is compared and changed in two steps, between which other threads run."""
    time.sleep(0.005)
    return bool(native.rename_capsule(capsule, USED[name]) == 0)


@defect("C-31")
def announced_device_believed() -> None:
    """The device of __dlpack_device__() counts, and that in the struct is not read."""
    announced: list[int] = [1]

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        method = getattr(x, "__dlpack_device__", None)
        announced[:] = [int(method()[0]) if method else 1]
        return original(x, words)

    def check_device(original: Any, tensor: Any, is_versioned: bool) -> None:
        if announced[-1] != 1:
            raise BufferError(f"expected memory of the CPU; got device type {announced[-1]}")

    change(consumer, "call", call)
    change(consumer, "check_device", check_device)
