"""What is examined: a factory that makes producers, and a function that consumes them."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from types import ModuleType
from typing import Any, Callable

from dlbridge.tools import children
from dlbridge.tools.conformance.probes import Skip
from dlbridge.tools.libraries import LIBRARIES, Library

# What a factory is asked for unless a probe needs another thing; only what it accepts is passed.
USUAL: Mapping[str, Any] = {
    "shape": (2, 3),
    "dtype": "float32",
    "readonly": False,
    "device": "cpu",
}


NO_CONSUMER = "no consumer is known: name one with --consumer MODULE:FUNCTION"


class CannotExamine(Exception):
    """There is nothing to examine; the text says why."""


class NoFactory(Skip):
    """Skips the checks of producers where there is no factory."""


@dataclass(frozen=True)
class Target:
    """The two sides of a library. Either may be missing; each probe says which it needs."""

    name: str  # as given: "numpy", "mylib:make"
    consumer: str | None  # as given; None: what is found for the name
    consumer_name: str | None  # as a person calls it
    factory: Callable[..., Any] | None
    accepts: frozenset[str]  # those of USUAL that the factory has parameters for
    function: Callable[[Any], Any] | None  # the consumer
    library: Library | None = None  # the row of tools.libraries that the consumer is of
    module: ModuleType | None = None  # of that library

    def make(self, **wanted: Any) -> Any:
        """A new producer, with what is wanted in place of USUAL.

        Raises Skip where the factory has no parameter for it, or refuses it.
        """
        if self.factory is None:
            raise NoFactory(f"{self.name} names no factory of producers")
        for word, value in wanted.items():
            if word not in self.accepts and value != USUAL[word]:
                raise Skip(f"the factory takes no `{word}`, so nothing with {word}={value!r}")
        given = {word: value for word, value in {**USUAL, **wanted}.items() if word in self.accepts}
        try:
            return self.factory(**given)
        except Exception as refused:
            asked = ", ".join(f"{word}={value!r}" for word, value in wanted.items())
            asked = f", asked for {asked}," if asked else ""
            raise Skip(f"the factory{asked} raised {name_error(refused)}") from refused

    def consume(self, producer: Any) -> Any:
        """What the consumer makes of a producer. Raises Skip where there is no consumer."""
        if self.function is None:
            raise Skip(NO_CONSUMER)
        return self.function(producer)


def name_error(raised: BaseException) -> str:
    """An exception in one line.

    >>> name_error(ValueError("no such dtype"))
    'ValueError: no such dtype'
    """
    said = " ".join(str(raised).split())
    return f"{type(raised).__name__}: {said}" if said else type(raised).__name__


# How a target is found -------------------------------------------------------------------------


def _accepts(factory: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # builtin functions may have none
        return frozenset()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return frozenset(USUAL)
    by_name = {each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY}
    return frozenset(by_name & USUAL.keys())


def numbers(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """0, 1, 2, ... as nested lists of a shape.

    >>> numbers((2, 2), "int8")
    [[0, 1], [2, 3]]
    """
    kinds = {"bool": bool, "float": float, "bfloat": float, "complex": complex}
    kind = kinds.get(dtype.rstrip("0123456789"), int)

    def part(extents: tuple[int, ...], start: int) -> Any:
        if not extents:
            return kind(start)
        step = math.prod(extents[1:])
        return [part(extents[1:], start + i * step) for i in range(extents[0])]

    return part(shape, 0)


def _of_library(library: Library) -> Target:
    module = library.load()

    def factory(shape: tuple[int, ...], dtype: str, readonly: bool = False) -> Any:
        assert library.array is not None
        made = library.array(module, numbers(shape, dtype), dtype)
        if not readonly:
            return made
        assert library.read_only is not None
        return library.read_only(module, made)

    words = {"shape", "dtype"} | ({"readonly"} if library.read_only is not None else set())
    take = library.take
    return Target(
        name=library.module,
        consumer=None,
        consumer_name=None if take is None else f"{library.module}'s from_dlpack",
        factory=None if library.array is None else factory,
        accepts=frozenset(words),
        function=None if take is None else lambda x: take(module, x),
        library=library,
        module=module,
    )


def _of_namespace(name: str) -> Target:
    """A module with the functions of the array API: asarray or zeros, and from_dlpack."""
    module = importlib.import_module(name)
    as_array: Any = getattr(module, "asarray", None)

    def factory(shape: tuple[int, ...], dtype: str) -> Any:
        return as_array(numbers(shape, dtype), dtype=getattr(module, dtype))

    consume = getattr(module, "from_dlpack", None)
    if as_array is None and consume is None:
        raise CannotExamine(
            f"{name} has neither asarray nor from_dlpack; name a factory, as in {name}:make"
        )
    return Target(
        name=name,
        consumer=None,
        consumer_name=None if consume is None else f"{name}:from_dlpack",
        factory=None if as_array is None else factory,
        accepts=frozenset({"shape", "dtype"}),
        function=consume,
    )


def _of_factory(name: str) -> Target:
    factory = children.find(name)
    if not callable(factory):
        raise CannotExamine(f"{name} is no function but {type(factory).__name__}")
    module = name.partition(":")[0]
    consume = getattr(importlib.import_module(module), "from_dlpack", None)
    return Target(
        name=name,
        consumer=None,
        consumer_name=None if consume is None else f"{module}:from_dlpack",
        factory=factory,
        accepts=_accepts(factory),
        function=consume,
    )


@lru_cache(maxsize=1)
def find(name: str, consumer: str | None) -> Target:
    """The target that two names mean: MODULE:FACTORY, a library or a namespace; MODULE:FUNCTION.

    Imports them. Raises CannotExamine for names that lead to nothing, in words for a person.
    """
    try:
        if ":" in name:
            target = _of_factory(name)
        elif name in LIBRARIES:
            target = _of_library(LIBRARIES[name])
        else:
            target = _of_namespace(name)
        if consumer is None:
            return target
        function = children.find(consumer)
    except CannotExamine:
        raise
    except (ImportError, AttributeError, ValueError) as missing:
        raise CannotExamine(name_error(missing)) from missing
    if not callable(function):
        raise CannotExamine(f"{consumer} is no function but {type(function).__name__}")
    other = {"consumer": consumer, "consumer_name": consumer, "function": function}
    return replace(target, **other, library=None, module=None)


def version_of(module: str) -> str | None:
    """The version of the distribution that brings a module, None when none is known."""
    top = module.partition(".")[0]
    if top in LIBRARIES and LIBRARIES[top].version is not None:
        return LIBRARIES[top].version
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        return None
