# SPDX-License-Identifier: BSD-3-Clause
"""Defects in how from_dlpack asks a producer, and in what it does with the answer."""

from __future__ import annotations

import ctypes as C
import time
from typing import Any

from planted import consumer, library, native
from planted.array import Array, row_major
from planted.native import LEGACY, STRUCTS, USED, VERSIONED
from planted.planting import change, defect

# Keywords ----------------------------------------------------------------------------------------


def _keywords(wrong: Any) -> None:
    change(
        consumer,
        "keywords",
        lambda original, device, copy: wrong(original(device, copy), device, copy),
    )


@defect("C-02")
def version_as_text() -> None:
    """max_version is passed as the text "1.3"."""
    _keywords(lambda words, device, copy: {**words, "max_version": "1.3"})


@defect("C-02")
def version_as_a_number() -> None:
    """max_version is passed as the number 1."""
    _keywords(lambda words, device, copy: {**words, "max_version": 1})


@defect("S-02", known=True)
def stream_of_no_order() -> None:
    """stream=-1 is passed to every producer."""
    _keywords(lambda words, device, copy: {**words, "stream": -1})


@defect("S-01")
def stream_0_for_the_cpu() -> None:
    """stream=0 is passed to producers on the CPU."""
    _keywords(lambda words, device, copy: {**words, "stream": 0})


@defect("S-01")
def stream_1_for_the_cpu() -> None:
    """stream=1, the default stream of CUDA, is passed to producers on the CPU."""
    _keywords(lambda words, device, copy: {**words, "stream": 1})


@defect("S-11")
def no_keywords() -> None:
    """from_dlpack has neither device nor copy."""
    whole = library.from_dlpack

    def short(x: Any, /) -> Array:
        return whole(x)

    library.from_dlpack = short  # type: ignore[assignment]


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
    _keywords(
        lambda words, device, copy: words if device is None else {**words, "dl_device": device}
    )


@defect("S-23")
def device_as_a_number() -> None:
    """The device type alone is passed as dl_device."""
    _keywords(lambda words, device, copy: words if device is None else {**words, "dl_device": 1})


@defect("S-14")
def copy_true_not_passed() -> None:
    """copy=True is neither passed on nor obeyed."""
    _keywords(lambda words, device, copy: {k: v for k, v in words.items() if k != "copy" or not v})


@defect("S-14")
def copy_true_forgotten_after_the_fallback() -> None:
    """copy=True shares the memory of a producer without the keyword."""
    change(consumer, "request", lambda original, x, words: (original(x, words)[0], True))


@defect("C-19", "S-15")
def copy_false_not_passed() -> None:
    """copy=False is not passed to a producer that has the keyword."""
    _keywords(
        lambda words, device, copy: {k: v for k, v in words.items() if k != "copy" or v is True}
    )


@defect("C-19", "S-15")
def copy_false_copies() -> None:
    """copy=False is passed on, and the consumer copies what it got."""
    _copy_after(lambda array, copy: copy is False)


@defect("C-19")
def copy_false_copies_what_is_not_compact() -> None:
    """copy=False copies a tensor that is not row-major."""
    _copy_after(lambda array, copy: copy is False and array.strides != row_major(array.shape))


@defect("C-19")
def copy_false_copies_read_only_memory() -> None:
    """copy=False copies read-only memory, to have a writable array."""
    _copy_after(lambda array, copy: copy is False and array.readonly)


@defect("S-15")
def copy_false_raises_key_error() -> None:
    """The BufferError of a producer that must copy becomes a KeyError where copy=False."""

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        try:
            return original(x, words)
        except BufferError as error:
            if words.get("copy") is False:
                raise KeyError("copy") from error
            raise

    change(consumer, "call", call)


@defect("S-15", "C-18", "C-19")
def copy_false_returns_none() -> None:
    """Where a producer must copy, and copy=False, None is returned."""
    whole = library.from_dlpack

    def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Any:
        try:
            return whole(x, device=device, copy=copy)
        except BufferError:
            if copy is False:
                return None
            raise

    library.from_dlpack = from_dlpack


def _copy_after(where: Any) -> None:
    def from_dlpack(original: Any, x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
        array: Array = original(x, device=device, copy=copy)
        return array.copy() if where(array, copy) else array

    change(consumer, "from_dlpack", from_dlpack)


# Errors of the producer --------------------------------------------------------------------------


def _retry_on(*errors: type[Exception]) -> None:
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


@defect("C-18", "C-19")
def retries_after_any_error() -> None:
    """Every exception leads to a call without keywords."""
    _retry_on(Exception)


@defect("S-13")
def error_of_the_producer_replaced() -> None:
    """A BufferError of the producer becomes a RuntimeError."""
    _raise_instead(BufferError, RuntimeError)


@defect("S-13")
def own_text_for_errors() -> None:
    """A BufferError of the producer becomes another BufferError, without its text."""

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        try:
            return original(x, words)
        except BufferError:
            raise BufferError("the object cannot be imported") from None

    change(consumer, "call", call)


@defect("S-13", "C-18", "C-19")
def value_errors_replaced() -> None:
    """Any exception of the producer that is no TypeError becomes a TypeError."""
    _raise_instead((ValueError, RuntimeError, BufferError), TypeError)


@defect("S-13")
def errors_end_in_an_empty_array() -> None:
    """An exception of the producer is printed, and an empty array returned."""
    whole = consumer.from_dlpack

    def from_dlpack(x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
        try:
            return whole(x, device=device, copy=copy)
        except (RuntimeError, ValueError):
            return library.make((0,))

    consumer.from_dlpack = from_dlpack


def _raise_instead(errors: Any, other: type[Exception]) -> None:
    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        try:
            return original(x, words)
        except errors as error:
            raise other(f"cannot import: {error}") from None

    change(consumer, "call", call)


@defect("S-12")
def missing_method_is_a_value_error() -> None:
    """An object without __dlpack__ raises ValueError."""

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        if not hasattr(x, "__dlpack__"):
            raise ValueError("expected an array")
        return original(x, words)

    change(consumer, "call", call)


@defect("S-12")
def missing_method_is_an_assertion() -> None:
    """An object without __dlpack__ raises AssertionError."""

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        if not hasattr(x, "__dlpack__"):
            raise AssertionError("no __dlpack__")
        return original(x, words)

    change(consumer, "call", call)


@defect("S-09", "C-18", "S-13", "C-19")
def methods_of_the_base_class() -> None:
    """__dlpack__ is looked up in the last class before object, and not in the object's own."""

    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        for kind in type(x).__mro__[-2::-1]:
            if "__dlpack__" in vars(kind):
                return vars(kind)["__dlpack__"](x, **words)
        return original(x, words)

    change(consumer, "call", call)


@defect("S-09")
def own_arrays_taken_directly() -> None:
    """An object of the library's type, or of a subclass, is returned as it is.

    Without an exchange table, by which its type might be read.
    """
    del Array.__dlpack_c_exchange_api__  # type: ignore[attr-defined]

    def from_dlpack(original: Any, x: Any, /, *, device: Any = None, copy: Any = None) -> Array:
        if isinstance(x, Array) and not copy:
            return x
        result: Array = original(x, device=device, copy=copy)
        return result

    change(consumer, "from_dlpack", from_dlpack)


# The capsule -------------------------------------------------------------------------------------


def _refuse_name(refused: bytes, where: Any = lambda: True) -> None:
    def struct_name(original: Any, capsule: Any) -> bytes:
        name: bytes = original(capsule)
        if name == refused and where():
            raise BufferError(f"capsules of the name {refused!r} are not supported")
        return name

    change(consumer, "struct_name", struct_name)


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
    _refuse_name(LEGACY, lambda: "max_version" in _last[-1])
    _remember_words()


@defect("C-01")
def no_second_call() -> None:
    """A producer without the keywords gets no second call."""
    change(consumer, "request", lambda original, x, words: (consumer.call(x, words), True))


@defect("C-17")
def version_1_0_refused() -> None:
    """A managed tensor of version 1.0, older than the requested one, is refused."""

    def check_version(original: Any, major: int, minor: int) -> None:
        original(major, minor)
        if (major, minor) < (1, 1):
            raise BufferError(f"expected DLPack 1.1 or newer; got {major}.{minor}")

    change(consumer, "check_version", check_version)


@defect("C-03", "C-07", "C-01", "C-31", known=True)
def request_decides() -> None:
    """The request determines the struct: a legacy capsule for max_version is read as versioned."""

    def take(original: Any, capsule: Any) -> Array:
        name = consumer.struct_name(capsule)
        consumer.use(capsule, name)
        address = native.capsule_pointer(capsule, USED[name])
        return consumer.adopt(address, VERSIONED if "max_version" in _last[-1] else LEGACY)

    _remember_words()
    change(consumer, "take", take)


_last: list[dict[str, Any]] = [{}]  # the keywords of the last call


def _remember_words() -> None:
    def call(original: Any, x: Any, words: dict[str, Any]) -> Any:
        _last[:] = [words]
        return original(x, words)

    change(consumer, "call", call)


@defect("C-06", "X-10", "X-09", known=True)
def used_capsule_accepted() -> None:
    """A capsule that was consumed is consumed again."""
    _fresh_name(lambda name: (name or b"").replace(b"used_", b""))


@defect("C-06", "X-10")
def used_legacy_capsule_accepted() -> None:
    """A legacy capsule that was consumed is consumed again."""
    _fresh_name(lambda name: LEGACY if name == USED[LEGACY] else name)


@defect("C-06")
def any_name_that_begins_right() -> None:
    """The first eight letters of the name decide: dltensor_v9 is read as the versioned struct."""
    _fresh_name(
        lambda name: (
            VERSIONED if name and name.startswith(b"dltensor_") else
            LEGACY if name and name.startswith(b"dltensor") else name
        )
    )  # fmt: skip


@defect("C-06")
def no_name_is_legacy() -> None:
    """A capsule without a name is read as the legacy struct."""
    _fresh_name(lambda name: LEGACY if name is None else name)


@defect("C-06")
def every_name_accepted() -> None:
    """A capsule of any other name is read as the legacy struct."""
    _fresh_name(lambda name: name if name in (*STRUCTS, *USED.values()) else LEGACY)


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


@defect("C-06", known=True)
def other_objects_read_as_capsules() -> None:
    """An object that is no capsule is read as one."""

    def take(original: Any, capsule: Any) -> Array:
        if not isinstance(capsule, native.capsule_type):
            field = id(capsule) + 16  # of a capsule's pointer
            address = C.c_size_t.from_address(field).value
            return consumer.adopt(address, LEGACY)
        result: Array = original(capsule)
        return result

    change(consumer, "take", take)


def _renames(legacy: bytes, versioned: bytes) -> None:
    """Replaces the names that consumed capsules get."""
    names = {LEGACY: legacy, VERSIONED: versioned}
    _kept.append(names)

    def take(original: Any, capsule: Any) -> Array:
        name = consumer.struct_name(capsule)
        result: Array = original(capsule)
        native.rename_capsule(capsule, names[name])
        return result

    change(consumer, "take", take)


_kept: list[Any] = []  # a capsule does not copy its name


@defect("C-20", "C-07", "X-08", "X-09", "X-10", "X-12", "X-03", known=True)
def not_renamed() -> None:
    """A capsule is not renamed, and frees the tensor a second time."""
    _renames(LEGACY, VERSIONED)


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
def racing() -> None:
    """The name is compared and changed in two steps, between which other threads run."""

    def use(original: Any, capsule: Any, name: bytes) -> bool:
        time.sleep(0.005)
        return bool(native.rename_capsule(capsule, USED[name]) == 0)

    change(consumer, "use", use)


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
