# SPDX-License-Identifier: BSD-3-Clause
"""The target of an examination: a factory that creates producers, and a consumer function."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import inspect
import math
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

from .. import children, output
from ..libraries import LIBRARIES, Library
from . import journal
from .outcomes import Skip, library_code, name_error
from .rules import STANDARDS

# The factory's arguments unless a probe sets them; only those that it accepts are passed.
USUAL: Mapping[str, Any] = {
    "shape": (2, 3),
    "dtype": "float32",
    "readonly": False,
    "device": "cpu",
}
STREAM = "stream"  # passed only by probes of stream order, and only to a parameter of this name


NO_CONSUMER = "no consumer is known: specify one with --consumer MODULE:FUNCTION"


class CannotExamine(Exception):
    """There is nothing to examine; the text contains the reason."""


class NoFactory(Skip):
    """Skips the probes of producers where there is no factory."""


@dataclass(frozen=True, eq=False)  # a key by its identity
class Target:
    """The two sides of a library. Either may be missing; a probe skips what it cannot examine."""

    name: str  # as given: "numpy", "mylib:make"
    consumer: str | None  # as given; None: the default consumer of the target
    consumer_name: str | None  # for the report
    factory: Callable[..., Any] | None
    accepts: frozenset[str]  # those of USUAL and STREAM that the factory has parameters for
    function: Callable[[Any], Any] | None  # the consumer
    library: Library | None = None  # the consumer's row in tools.libraries
    module: ModuleType | None = None  # of that library
    device: str = "cpu"  # of the arrays, unless a probe sets it
    # The numbers in an array of a shape and a dtype; None: the factory chooses them.
    content: Callable[[tuple[int, ...], str], Any] | None = None

    def make(self, **overrides: Any) -> Any:
        """Calls the factory with USUAL, updated by the arguments.

        Raises Skip where the factory has no such parameter, or raises, or ends the process.
        """
        if self.factory is None:
            raise NoFactory(f"{self.name} has no factory of producers")
        wanted = {"device": self.device, **overrides}
        for name, value in wanted.items():
            if name not in self.accepts and value != USUAL.get(name):
                raise Skip(self.lacks(name, value))
        arguments = {
            name: value for name, value in {**USUAL, **wanted}.items() if name in self.accepts
        }
        words = tuple(f"{name}={value!r}" for name, value in overrides.items())
        text = f"{journal.FACTORY}, called with {', '.join(words)}" if words else journal.FACTORY
        try:
            with journal.entry(journal.Call("factory", text, words)), library_code():
                return self.factory(**arguments)
        except Exception as error:
            comma = "," if words else ""
            raise Skip(f"{text}{comma} raised {name_error(error)}") from error

    def text_of(self, **overrides: Any) -> str:
        """Returns the text of an array that make() creates: "float32 (2, 3)"."""
        named = {name: it for name, it in {**USUAL, **overrides}.items() if name in self.accepts}
        parts = [
            *(["read-only"] if named.get("readonly") else []),
            *([str(named["dtype"])] if "dtype" in named else []),
            str(named.get("shape", "the array")),
        ]
        return " ".join(parts)

    def lacks(self, name: str, value: Any) -> str:
        """Returns why make() cannot pass an argument: the factory has no such parameter."""
        if self.name in LIBRARIES:
            return f"dlbridge creates no {LIBRARIES[self.name].title} arrays with {name}={value!r}"
        return f"the factory has no parameter `{name}`; {name}={value!r} is needed"

    def consume(self, producer: Any) -> Any:
        """Calls the consumer with a producer. Raises Skip where there is no consumer."""
        if self.function is None:
            raise Skip(NO_CONSUMER)
        consumers[:] = [self]
        with journal.entry(import_call(producer)), library_code():
            result = self.function(producer)
        if journal.excluding(journal.END) is not None:
            _kept.append(result)
        return result


def import_call(x: Any, **keywords: Any) -> journal.Call:
    """Names an import in the journal, by the keywords of the consumer and the traits of x.

    An array of the library exports a versioned tensor, as far as is known.
    """
    words = tuple(f"{name}={value!r}" for name, value in keywords.items())
    own = (journal.OWN, journal.VERSIONED) if hasattr(x, "__dlpack__") else ()
    traits = getattr(x, "traits", own)
    described = repr(x) if traits is not own and traits else type(x).__name__
    text = f"{journal.EVERY_IMPORT}({', '.join([described, *words])})"
    return journal.Call("import", text, (*words, *traits))


_kept: list[Any] = []  # results whose end would be that of the process
consumers: list[Target] = []  # the one that was called last


# Resolving names --------------------------------------------------------------------------------


def _accepts(factory: Callable[..., Any]) -> frozenset[str]:
    try:
        parameters = inspect.signature(factory).parameters.values()
    except (TypeError, ValueError):  # builtin functions may have none
        return frozenset()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return frozenset(USUAL)
    by_name = {each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY}
    return frozenset(by_name & {*USUAL, STREAM})


def _number(i: int, dtype: str) -> Any:
    """Returns the i-th number of an array: one that another dtype of the same bits would change.

    Every value is exact in its dtype, and in the narrower one that JAX takes in place of it.
    """
    name = dtype.rstrip("0123456789")
    bits = int(dtype[len(name) :] or 0)
    part = i % 100 if bits == 0 or bits > 7 else i % (1 << (bits - 1))  # repeats in long arrays
    signed = part + 1 if i % 2 else -(part + 1)
    if name == "bool":
        return i % 3 == 0
    if name == "uint":
        return (1 << min(bits, 32)) - 1 - part
    if name == "int":
        return signed
    return complex(signed, part) if name == "complex" else signed / 2


def numbers(shape: tuple[int, ...], dtype: str = "float32") -> Any:
    """Returns different numbers as nested lists of a shape.

    >>> numbers((2, 2), "int8"), numbers((3,), "uint8"), numbers((2,), "complex64")
    ([[-1, 2], [-3, 4]], [255, 254, 253], [(-1+0j), (2+1j)])
    """

    def part(extents: tuple[int, ...], start: int) -> Any:
        if not extents:
            return _number(start, dtype)
        step = math.prod(extents[1:])
        return [part(extents[1:], start + i * step) for i in range(extents[0])]

    return part(shape, 0)


def _of_library(library: Library) -> Target:
    module = library.load()

    def factory(
        shape: tuple[int, ...],
        dtype: str,
        readonly: bool = False,
        device: str = USUAL["device"],
        stream: int | None = None,
    ) -> Any:
        assert library.array is not None
        if stream is not None:
            assert library.use_stream is not None
            library.use_stream(module, stream)
        array = library.array(module, numbers(shape, dtype), dtype)
        if device != USUAL["device"]:
            assert library.to_device is not None
            array = library.to_device(module, array, device)
        if not readonly:
            return array
        assert library.read_only is not None
        return library.read_only(module, array)

    optional = {
        "readonly": library.read_only,
        "device": library.to_device,
        STREAM: library.use_stream,
    }
    parameters = {"shape", "dtype", *(name for name, column in optional.items() if column)}
    take = library.take
    return Target(
        name=library.module,
        consumer=None,
        consumer_name=None if take is None else f"{library.module}'s from_dlpack",
        factory=None if library.array is None else factory,
        accepts=frozenset(parameters),
        function=None if take is None else lambda x: take(module, x),
        library=library,
        module=module,
        content=numbers,
    )


def _of_namespace(name: str) -> Target:
    """Uses a module with functions of the array API: asarray and from_dlpack."""
    module = children.load(name)
    as_array: Any = getattr(module, "asarray", None)

    def factory(shape: tuple[int, ...], dtype: str) -> Any:
        return as_array(numbers(shape, dtype), dtype=getattr(module, dtype, dtype))

    consume = getattr(module, "from_dlpack", None)
    if as_array is None and consume is None:
        raise CannotExamine(
            f"{name} has neither asarray nor from_dlpack; specify a factory, as in {name}:make"
        )
    return Target(
        name=name,
        consumer=None,
        consumer_name=None if consume is None else f"{name}:from_dlpack",
        factory=None if as_array is None else factory,
        accepts=frozenset({"shape", "dtype"}),
        function=consume,
        content=numbers,
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
def find(name: str, consumer: str | None, device: str = USUAL["device"]) -> Target:
    """Resolves the names of a target (MODULE:FACTORY, a library, a namespace) and of a consumer.

    Imports them. Raises CannotExamine where a name cannot be resolved.
    """
    return replace(_resolve(name, consumer), device=device)


def _resolve(name: str, consumer: str | None) -> Target:
    try:
        if ":" in name:
            target = _of_factory(name)
        elif name in LIBRARIES:
            target = _of_library(LIBRARIES[name])
        else:
            target = _of_namespace(name)
    except CannotExamine:
        raise
    except Exception as missing:
        text = name_error(missing) + _place(missing)
        parent, _, attribute = name.rpartition(".")
        if isinstance(missing, ModuleNotFoundError) and missing.name == name and parent:
            text += f"; an attribute of a module is {parent}:{attribute}"
        raise CannotExamine(text) from missing
    if consumer is None:
        return target
    try:
        function = children.find(consumer)
    except Exception as missing:
        text = f"{name_error(missing)}{_place(missing)}"
        raise CannotExamine(f"the consumer {consumer}: {text}") from missing
    if not callable(function):
        raise CannotExamine(f"{consumer} is no function but {type(function).__name__}")
    other = {"consumer": consumer, "consumer_name": consumer, "function": function}
    return replace(target, **other, library=None, module=None)


def _place(error: BaseException) -> str:
    """Returns where a module raised during its import; "" where the module was not found.

    The frames of Python's import, and those of this package, say nothing.
    """
    others = (str(Path(children.__file__).parent), str(Path(importlib.__file__).parent), "<frozen")
    places = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith(others)
    ]
    return f" ({places[-1].filename}, line {places[-1].lineno})" if places else ""


def claimed_standard(target: Target) -> str | None:
    """Returns the version of the array API that a library claims; None where it claims none.

    An array's namespace has it as __array_api_version__, and so does a module that is one.
    """
    places: list[Callable[[], Any]] = [
        lambda: target.make().__array_namespace__(),
        lambda: target.module or importlib.import_module(target.name.partition(":")[0]),
    ]
    for place in places:
        try:
            version = place().__array_api_version__
        except (Skip, Exception):  # neither an array nor a module of the array API
            continue
        if version in STANDARDS:
            return str(version)
    return None


def version_of(module: str) -> str | None:
    """Returns the version of an imported module, None when it is unknown."""
    top = module.partition(".")[0]
    if top in LIBRARIES and LIBRARIES[top].version is not None:
        return LIBRARIES[top].version
    try:
        return importlib.metadata.version(top)
    except importlib.metadata.PackageNotFoundError:
        stated = getattr(sys.modules.get(module), "__version__", None)
        return None if stated is None else output.one_line(str(stated))
