# SPDX-License-Identifier: BSD-3-Clause
"""The probes of from_dlpack and asarray: keywords, exceptions and copies, S-09 and S-11 to S-16."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Callable
from typing import Any

from ...buffers import buffer_of
from ..helpers.consumption import (
    ConsumerCall,
    function_with_keywords,
    import_as,
    kinds,
    negotiates,
    short,
    spelled,
    support,
    with_its_device,
)
from ..helpers.expectations import same
from ..helpers.exports import best, make
from ..helpers.producers import (
    CopyingProducer,
    Producer,
    RaisingProducer,
)
from ..helpers.producers import values_of as fields_values
from ..helpers.results import (
    is_over_requested_copy,
    readers,
    shares_memory,
    values_of,
)
from ..outcomes import Broken, Skip, name_error
from ..registry import probe
from ..target import Target

# S-09: subclasses --------------------------------------------------------------------------------


def _derived_from(parent: type[Producer], base: type[Producer], start: int) -> type[Producer]:
    class Derived(parent):  # type: ignore[misc, valid-type]
        """Exports other values than its parent: those from this element on."""

        def __dlpack__(self, *arguments: Any, **keywords: Any) -> Any:
            self.fields["start"] = start
            return base.__dlpack__(self, *arguments, **keywords)

    return Derived


class _Mixin:
    """Stands before the class that has __dlpack__."""


def _families(base: type[Producer]) -> dict[str, tuple[type[Producer], int]]:
    """Returns classes, and the element from which on each exports its own."""
    child = _derived_from(base, base, 4)
    silent: type[Producer] = type("Silent", (child,), {})
    mixed: type[Producer] = type("Mixed", (_Mixin, child), {})
    return {
        "a class": (base, 0),
        "a subclass": (child, 4),
        "a subclass of a subclass": (_derived_from(child, base, 7), 7),
        "a subclass that inherits the method of another one": (silent, 4),
        "a subclass of two classes": (_derived_from(mixed, base, 9), 9),
        "the class, after its subclasses": (base, 0),
    }


@probe("S-09")
def subclasses_speak_for_themselves(target: Target) -> None:
    negotiates(target)
    readers(target)
    for kind in kinds(target):
        for name, (family, start) in _families(support(target).producers[kind]).items():
            call = ConsumerCall(target, family())
            if call.refusal is not None:
                raise Skip(f"{name} is refused: {call.error_text}")
            expected = fields_values({**family().fields, "start": start})
            values = values_of(target, call.result)
            if not same(values, expected):
                raise Broken(
                    f"{kind}: the method of {name} exported {expected}; the consumer read"
                    f" {short(repr(values))}"
                )


EXCHANGE = "__dlpack_c_exchange_api__"


def _as_subclass(x: Any, own: type) -> Any:
    """Returns an array of a library as one of a subclass. Raises Skip where there is no way."""
    ways: dict[str, Callable[[], Any]] = {
        "x.view": lambda: x.view(own),
        "x.as_subclass": lambda: x.as_subclass(own),
        "x.__class__": lambda: _with_class(x, own),
    }
    for way in ways.values():
        try:
            derived = way()
        except Exception:
            continue
        if type(derived) is own:
            return derived
    raise Skip(f"no {type(x).__name__} can become one of a subclass")


def _with_class(x: Any, own: type) -> Any:
    x.__class__ = own
    return x


@probe("S-09", extra=True)
def subclasses_of_its_own_arrays_speak_for_themselves(target: Target) -> str:
    """A consumer that takes its own arrays without a call takes a subclass for one of them."""
    negotiates(target)
    readers(target)
    for kind in kinds(target):
        base = support(target).producers[kind]
        x, other = import_as(target, kind).result, base(start=4)
        if hasattr(x, EXCHANGE):
            raise Skip("its type has an exchange table, by which it may be read")
        methods = {
            "__dlpack__": lambda self, **words: other.__dlpack__(**words),  # noqa: B023
            "__dlpack_device__": lambda self: other.__dlpack_device__(),  # noqa: B023
        }
        try:
            own: type = type("Own", (type(x),), methods)
        except TypeError:
            raise Skip(f"{type(x).__name__} cannot be subclassed") from None
        derived = _as_subclass(x, own)
        try:
            result = target.consume(derived)
        except Exception as error:
            return f"a subclass of its own type is refused: {name_error(error)}"
        values = values_of(target, result)
        if not same(values, other.values):
            raise Broken(
                f"{kind}: a subclass of {own.__bases__[0].__name__} exported {other.values}; the"
                f" consumer read {short(repr(values))}"
            )
    return ""


# S-11: keywords ----------------------------------------------------------------------------------


def _parameters(function: Any) -> set[str] | None:
    try:
        return set(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # many builtin functions have none to show
        return None


@probe("S-11")
def from_dlpack_has_device_and_copy(target: Target) -> None:
    negotiates(target)
    function = function_with_keywords(target)
    try:
        function(Producer(), device=None, copy=None)
    except TypeError as error:
        names = _parameters(function)
        if names is None or not {"device", "copy"} <= names:
            raise Broken(name_error(error)) from None
    except Exception as error:
        raise Skip(f"a plain tensor is refused: {name_error(error)}") from None


@probe("S-23")
def device_becomes_a_pair(target: Target) -> str:
    negotiates(target)
    function_with_keywords(target)
    call = ConsumerCall(target, Producer(), device="cpu")
    pairs = [
        each["dl_device"] for each in call.producer.requests if each.get("dl_device") is not None
    ]
    for each in pairs:
        is_pair = isinstance(each, tuple) and len(each) == 2
        if not is_pair or not isinstance(each[1], int) or not hasattr(each[0], "__index__"):
            raise Broken(f'device="cpu" is sent as dl_device={each!r}, which is no pair of numbers')
    if call.refusal is not None:
        return f"refused: {call.error_text}"
    return f"dl_device: {pairs or 'not sent'}"


# S-12 and S-13: exceptions -----------------------------------------------------------------------


@probe("S-12")
def reports_what_is_missing(target: Target) -> str:
    negotiates(target)
    try:
        result = target.consume(object())
    except (AttributeError, TypeError) as error:
        return name_error(error)
    except Exception as error:
        raise Broken(f"an object without __dlpack__ raises {name_error(error)}") from None
    raise Broken(f"an object without __dlpack__ became a {type(result).__name__}")


class _OfTheProducer(Exception):
    """An exception that no consumer raises itself."""


class _NoDevice(Producer):
    """Raises in __dlpack_device__."""

    def __init__(self, error: BaseException) -> None:
        super().__init__()
        self.error, self.was_asked = error, False

    def __dlpack_device__(self) -> tuple[int, int]:
        self.was_asked = True
        raise self.error


def _errors() -> tuple[Exception, ...]:
    return (
        _OfTheProducer("mine"),
        BufferError("mine"),
        RuntimeError("mine"),
        ValueError("mine"),
        MemoryError("mine"),
    )


def _must_arrive(call: ConsumerCall, error: Exception, method: str) -> None:
    if type(call.refusal) is not type(error) or "mine" not in str(call.refusal):
        raise Broken(f"{method} raised {name_error(error)}; the caller got {call.error_text}")


@probe("S-13")
def exceptions_of_the_producer_arrive(target: Target) -> None:
    negotiates(target)
    for error in _errors():
        call = ConsumerCall(target, RaisingProducer(error))
        if not call.producer.requests:
            raise Skip(f"it calls no __dlpack__: {call.error_text}")
        _must_arrive(call, error, "__dlpack__")


@probe("S-13")
def exceptions_of_the_device_method_arrive(target: Target) -> str | None:
    negotiates(target)
    for error in _errors():
        producer = _NoDevice(error)
        call = ConsumerCall(target, producer)
        if not producer.was_asked:
            return "it does not call __dlpack_device__"
        _must_arrive(call, error, "__dlpack_device__")
    return None


@probe("S-13", hostile=True)
def interrupts_are_not_swallowed(target: Target) -> str:
    negotiates(target)
    try:
        call = ConsumerCall(target, RaisingProducer(KeyboardInterrupt("mine")))
    except KeyboardInterrupt:
        return "KeyboardInterrupt arrives"
    if call.refusal is None:
        raise Broken("__dlpack__ raised KeyboardInterrupt, and the caller got a result")
    return f"KeyboardInterrupt became {call.error_text}"


# S-14 and S-15: copies ---------------------------------------------------------------------------


@probe("S-14")
def copy_true_copies(target: Target) -> str:
    """A producer that has the keyword copies; without it, the consumer does or refuses."""
    negotiates(target)
    readers(target)
    function_with_keywords(target)
    notes = []
    for kind, producer in support(target).producers.items():
        for keywords in with_its_device(target, {"copy": True}):
            how = kind if len(keywords) == 1 else f'{kind}, device="cpu"'
            call = ConsumerCall(target, producer(), **keywords)
            if call.refusal is not None:
                notes.append(f"{how}: refused: {call.error_text}")
            elif call.producer.requests[-1].get("copy") is True or is_over_requested_copy(call):
                notes.append(f"{how}: left to the producer, by copy=True")
            else:
                notes.append(f"{how}: {_is_a_copy(target, call, how)}")
    if not notes:
        raise Skip("no plain tensor is accepted")
    return "; ".join(notes)


def _is_a_copy(target: Target, call: ConsumerCall, how: str) -> str:
    if shares_memory(call):
        sent = call.producer.requests[-1]
        raise Broken(
            f"{how}: copy=True called __dlpack__({spelled(sent)}), and the result shares the"
            " producer's memory"
        )
    if not same(values_of(target, call.result), call.producer.values):
        raise Broken(f"{how}: the copy holds other values")
    return "copied by the consumer"


@probe("S-15")
def copy_false_is_refused_where_it_must_copy(target: Target) -> str:
    negotiates(target)
    function_with_keywords(target)
    refusals = []
    for keywords in with_its_device(target, {"copy": False}):
        call = ConsumerCall(target, CopyingProducer(), **keywords)
        if call.refusal is None:
            raise Skip("it returned a result, which C-19 judges")
        if isinstance(call.refusal, TypeError):
            raise Skip(f"it has no keyword copy: {call.error_text}")
        if not isinstance(call.refusal, (BufferError, ValueError)):
            raise Broken(f"{spelled(keywords)} was refused with {call.error_text}")
        refusals.append(call.error_text)
    return refusals[0]


# S-16: asarray -----------------------------------------------------------------------------------


def _namespace(target: Target, x: Any) -> Any:
    """Returns the namespace that an array claims, or else the module of the target."""
    try:
        return x.__array_namespace__()
    except Exception:
        return target.module or importlib.import_module(target.name.partition(":")[0])


def _as_array(target: Target, x: Any) -> Any:
    module = _namespace(target, x)
    function = getattr(module, "asarray", None)
    if not callable(function):
        raise Skip(f"{module.__name__} has no function asarray")
    if "copy" not in (_parameters(function) or {"copy"}):
        raise Skip(f"{module.__name__}.asarray has no keyword copy")
    return function


def _shares(one: Any, other: Any) -> bool:
    first, second = best(one), best(other)  # both are alive during the comparison
    return first.contents.first == second.contents.first


@probe("S-16")
def asarray_copies_on_request(target: Target) -> None:
    x = make(target)
    function = _as_array(target, x)
    if _shares(x, function(x, copy=True)):
        raise Broken("asarray(x, copy=True) shares the memory of x")


@probe("S-16", extra=True)
def asarray_shares_on_request(target: Target) -> str:
    x = make(target)
    function = _as_array(target, x)
    if buffer_of(x) is None:
        raise Skip(f"{type(x).__name__} has no buffer protocol, of which the rule speaks")
    try:
        result = function(x, copy=False)
    except (ValueError, BufferError) as error:
        return name_error(error)
    if not _shares(x, x):
        raise Skip("every export is a copy: the addresses tell nothing")
    if not _shares(x, result):
        raise Broken("asarray(x, copy=False) copies x without an error")
    return "asarray(x, copy=False) shares the memory"
