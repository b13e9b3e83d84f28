# SPDX-License-Identifier: BSD-3-Clause
"""Random producers that misbehave in every step, for each function that accepts a producer.

The classes are made by a seeded generator: they return wrong values, raise, run code that modifies
their type or calls dlbridge again, export malformed tensors, and have faulty exchange tables.

    python hostile_producers.py COUNT SEED [FIRST]   runs COUNT rounds, from number FIRST on

DLBRIDGE_TEST_MODULES names the directory with the compiled test modules. A failure prints the
number of its round.
"""

from __future__ import annotations

import contextlib
import datetime
import functools
import gc
import os
import random
import sys
import traceback
from pathlib import Path
from typing import Any, Callable

if __name__ == "__main__":  # pytest's conftest.py does the same
    sys.path.insert(0, os.environ["DLBRIDGE_TEST_MODULES"])
    sys.path.insert(0, str(Path(__file__).parent))

import dlbridge
import extension
import foreign
from bindings import BINDINGS

Fields = dict[str, Any]
NAME = "__dlpack_c_exchange_api__"
OLD_NAME = "__c_dlpack_exchange_api__"
DEEPEST = 2  # calls of dlbridge inside calls of dlbridge

# Tensors that a consumer may read: all elements are among the 64 float32 of the foreign module.
SOUND: list[Fields] = [
    {},  # WITHOUT_DELETER
    {"shape": (3,)},
    {"shape": (3,)},
    {"shape": (16,), "flags": 1},
    {"shape": ()},
    {"shape": (0, 3)},
    {"shape": (2, 3), "strides": None},
    {"shape": (2, 3), "strides": (1, 2)},
    {"shape": (2, 3), "strides": (0, 0)},
    {"shape": (3,), "strides": (-1,), "byte_offset": 64},
    {"shape": (3,), "byte_offset": 4},
    {"shape": (3,), "byte_offset": 2},
    {"flags": 2},
    {"flags": 2**63 + 7},
    {"shape": (4,), "dtype": (0, 64, 1)},
    {"shape": (4,), "dtype": (5, 64, 1)},
    {"shape": (2,), "dtype": (5, 128, 1)},
    {"shape": (4, 5, 3), "dtype": (1, 8, 1)},
    {"shape": (8,), "dtype": (6, 8, 1)},
    {"shape": (7,), "dtype": (0, 4, 1)},
    {"shape": (7,), "dtype": (0, 4, 1), "flags": 4},
    {"shape": (4,), "dtype": (2, 32, 4)},
    {"shape": (4,), "dtype": (18, 64, 1)},
    {"shape": (1,) * 64},
    {"version": (1, 99)},
    {"device": (3, 0)},
    {"device": (1, 5)},
    {"device": (2, 0)},
    {"device": (10, 1)},
    {"device": (8, 0), "data": 0x1234, "byte_offset": 8},
]
MALFORMED: list[Fields] = [
    {"ndim": -1},
    {"ndim": 65},
    {"ndim": 2**31 - 1},
    {"shape": None, "ndim": 2},
    {"shape": (2, -3)},
    {"shape": (2**62, 2**62)},
    {"shape": (2, 2), "strides": (2**62, 1)},
    {"shape": (2, 2), "strides": (-(2**63), 1)},
    {"data": None},
    {"data": 2**64 - 8},
    {"byte_offset": 2**63},
    {"dtype": (99, 8, 1)},
    {"dtype": (0, 0, 1)},
    {"dtype": (2, 32, 0)},
    {"dtype": (15, 8, 1)},
    {"device": (99, 0)},
    {"device": (0, 0)},
    {"device": (-5, 2**31 - 1)},
]
# Of an unreadable version only the version and the deleter may be read, so nothing else is valid.
TRAPS = {"shape": foreign.trap(), "strides": foreign.trap(), "data": foreign.trap()}
UNREADABLE: list[Fields] = [{"version": (2, 0), **TRAPS}, {"version": (0, 3), **TRAPS}]
# No deleter call tells when such a tensor is no longer used, so it is never freed.
WITHOUT_DELETER = foreign.tensor(deleter=False)
SLOTS = ("allocate", "give", "take", "lend", "stream")
# A capsule keeps only the address of its name, so these are all that the foreign module stores.
MISNAMED: list[tuple[bool, bytes | None]] = [
    (False, b"used_dltensor"),
    (False, b"DLTENSOR"),
    (False, b""),
    (False, None),
    (True, b"used_dltensor_versioned"),
    (True, b"dltensor_versioned\xff"),
]
ONE = [
    "span_to_read", "span_to_write", "owned", "owned_to_write", "argument", "any_tensor",
    "managed_tensor", "optional_span_to_read", "optional_span_to_write", "optional_owned",
    "optional_argument", "optional_any_tensor", "sum", "complex_sum", "same", "optional_same",
    "doubled", "int64", "float_or_double", "rank_0", "rank_2", "rgb", "fixed", "writable",
    "row_major", "compact", "column_major", "on_cuda", "anywhere", "aligned_64", "all",
]  # fmt: skip
SEVERAL = ["totals", "totals_of_nested", "totals_of_tuple", "totals_after", "kind_of"]


class Misstep(Exception):
    """Raised by hostile code; its text raises as well."""

    def __str__(self) -> str:
        raise LookupError("this exception has no text")


def raised_exception(choose: random.Random) -> Exception:
    message = choose.choice(["", "unexpected keyword argument 'max_version'", "\0", "x" * 2000])
    kinds: list[type[Exception]] = [
        TypeError, TypeError, ValueError, BufferError, AttributeError, RuntimeError, KeyError,
        MemoryError, RecursionError, StopIteration, OSError, OverflowError, NotImplementedError,
        UserWarning, dlbridge.CopyForbiddenError, Misstep,
    ]  # fmt: skip
    return choose.choice(kinds)(message)


class Round:
    """One round: its random choices, and the classes and objects that hostile code modifies."""

    def __init__(self, seed: int, number: int) -> None:
        self.choose = random.Random(seed * 2**40 + number)
        self.depth = 0
        self.classes: list[Any] = []
        self.objects: list[Any] = []
        self.capsules: list[Any] = []  # that have another owner, or are used up
        self.misnamed = 0
        self.refused = 0
        self.violations: list[str] = []

    def one_in(self, odds: int) -> bool:
        return self.choose.randrange(odds) == 0

    # Code that hostile methods run.

    def misbehave(self) -> None:
        """Runs code that a consumer does not expect, or raises."""
        if not self.one_in(3):
            return
        actions: list[Callable[[], object]] = [
            self.raise_something, gc.collect, self.call_again, self.modify_type, self.change_class,
            self.remove_method, self.forget, self.modify_instance,
        ]  # fmt: skip
        self.choose.choice(actions)()

    def raise_something(self) -> None:
        error = raised_exception(self.choose)
        if self.one_in(3):
            raise error from Misstep()
        raise error

    def call_again(self) -> None:
        if self.depth < DEEPEST:
            self.attempt()

    def modify_type(self) -> None:
        if self.classes:
            changed = self.choose.choice(self.classes)
            names = ["__dlpack__", "__dlpack_device__", NAME, OLD_NAME, "other"]
            setattr(changed, self.choose.choice(names), self.attribute())

    def remove_method(self) -> None:
        if self.classes:
            changed = self.choose.choice(self.classes)
            with contextlib.suppress(AttributeError):
                delattr(changed, self.choose.choice(["__dlpack__", "__dlpack_device__", NAME]))

    def change_class(self) -> None:
        if self.objects and self.classes:
            with contextlib.suppress(TypeError, AttributeError):
                self.choose.choice(self.objects).__class__ = self.choose.choice(self.classes)

    def modify_instance(self) -> None:
        if self.objects:
            with contextlib.suppress(AttributeError, TypeError):
                self.choose.choice(self.objects).__dlpack__ = self.attribute()

    def forget(self) -> None:
        """Drops references that a consumer may rely on."""
        self.capsules.clear()
        del self.objects[: self.choose.randrange(2)]

    # Values.

    def tensor(self) -> foreign.Handle:
        fields = self.choose.choice(MALFORMED if self.one_in(6) else SOUND)
        return foreign.tensor(**fields) if fields else WITHOUT_DELETER

    def capsule(self, versioned: bool) -> Any:
        choice = self.choose.randrange(16)
        if choice == 0 and self.misnamed < 16:
            self.misnamed += 1
            kind, name = self.choose.choice(MISNAMED)
            return self.tensor().capsule(kind, name=name, destructor="blind")
        if choice == 1:
            return foreign.tensor(**self.choose.choice(UNREADABLE)).capsule(True)
        if choice == 2 and self.capsules:
            return self.choose.choice(self.capsules)
        made = self.tensor().capsule(versioned, destructor="clears" if choice == 3 else "spec")
        if choice == 4:
            foreign.consume(made).release()
        if choice < 6:
            self.capsules.append(made)
        return made

    def number(self) -> Any:
        numbers = [0, 1, 2, -1, 2**31, 2**63, -(2**63), 2**64, 2**200, True, 1.0, 1.5]
        return Odd(self) if self.one_in(4) else self.choose.choice(numbers)

    def value(self) -> Any:
        """An object of any kind, in place of a result or an argument."""
        makers: list[Callable[[], Any]] = [
            lambda: None, self.number, object, lambda: Odd(self), lambda: "cpu", lambda: "\ud800",
            lambda: (), lambda: (self.number(),), lambda: (self.number(), self.number()),
            lambda: [1, 0], lambda: (1, 0, 0), lambda: OddTuple(self), lambda: OddText(self),
            lambda: b"x", lambda: memoryview(bytearray(8)), lambda: Misstep,
            lambda: datetime.__dict__.get("datetime_CAPI"), lambda: self.capsule(self.one_in(2)),
            lambda: foreign.exchange_capsule(foreign.exchange_table()), lambda: iter(()),
            lambda: foreign.tensor(), self.producer,
        ]  # fmt: skip
        return self.choose.choice(makers)()

    def table(self) -> Any:
        """An exchange table as a class stores it, or something else. An int under the old name
        is an address, so only ints that dlbridge refuses are used in place of one."""
        if self.one_in(8):
            return self.choose.choice([None, 0, 1, "x", 2**70, object(), OddTuple(self)])
        older = 0
        for version in ((1, 0), (2, 0))[: self.choose.randrange(3)]:
            older = foreign.exchange_table(version=version, prev=older)
        version = self.choose.choice([(1, 3), (1, 3), (1, 0), (1, 99), (2, 0), (0, 9)])
        subset = [slot for slot in SLOTS if self.one_in(5)]
        rest = [slot for slot in SLOTS if self.one_in(5)]
        address = foreign.exchange_table(
            version=version,
            prev=older,
            missing=subset,  # type: ignore[arg-type]
            failing=rest,  # type: ignore[arg-type]
        )
        return foreign.exchange_capsule(address)

    # Producers.

    def result(self, method: str, keywords: Fields) -> Any:
        """What a hostile method returns."""
        self.misbehave()
        if self.one_in(10):
            return self.value()
        if method == "__dlpack_device__":
            return (
                (1, 0) if self.one_in(2) else self.choose.choice([(1, 0), (2, 0), (3, 0), (8, 0)])
            )
        versioned = "max_version" in keywords if not self.one_in(4) else self.one_in(2)
        return self.capsule(versioned)

    def attribute(self, method: str = "__dlpack__") -> Any:
        """A method of a class, or something in its place."""
        result = self.result

        def any_keywords(self: Any, **keywords: Any) -> Any:
            return result(method, keywords)

        def no_keywords(self: Any) -> Any:
            return result(method, {})

        def some_keywords(self: Any, *, stream: Any = None, max_version: Any = None) -> Any:
            return result(method, {} if max_version is None else {"max_version": max_version})

        def no_self(*arguments: Any, **keywords: Any) -> Any:
            return result(method, keywords)

        plain = [any_keywords, any_keywords, any_keywords, no_keywords, some_keywords]
        if not self.one_in(6):
            return self.choose.choice(plain)
        others: list[Callable[[], Any]] = [
            lambda: staticmethod(no_self), lambda: classmethod(no_self), lambda: None,
            lambda: property(any_keywords), lambda: property(lambda s: no_self),
            lambda: functools.partial(no_self), lambda: Odd(self), lambda: 7,
        ]  # fmt: skip
        return self.choose.choice(others)()

    def class_(self) -> Any:
        with_table = self.one_in(3)
        namespace: Fields = {}
        if self.one_in(2):
            namespace["__slots__"] = ()  # dlbridge calls methods of such types without a look-up
        if not self.one_in(12) and not (with_table and self.one_in(2)):
            namespace["__dlpack__"] = self.attribute()
            namespace["__dlpack_device__"] = self.attribute("__dlpack_device__")
        if with_table:
            namespace[NAME if not self.one_in(4) else OLD_NAME] = self.table()
        if self.one_in(12):
            outer = self

            def getattribute(self: Any, name: str) -> Any:
                if name.startswith("__dlpack"):
                    outer.misbehave()
                return object.__getattribute__(self, name)

            namespace["__getattribute__"] = getattribute
        # The functions of a table require an object of the foreign module.
        bases = (foreign.Exported,) if with_table or self.one_in(3) else ()
        made = type("Hostile", bases, namespace)
        self.classes.append(made)
        return made

    def producer(self) -> Any:
        known = [each for each in self.classes if self.one_in(2)]
        of = known[0] if known else self.class_()
        with contextlib.suppress(TypeError):
            made = of(self.tensor()) if issubclass(of, foreign.Exported) else of()
            self.objects.append(made)
            return made
        return object()

    # Calls.

    def keywords(self, *names: str) -> Fields:
        likely: dict[str, list[Any]] = {
            "device": [None, "cpu", (1, 0), "cuda:0", (2, 1), "rocm:0"],
            "copy": [None, True, False],
            "stream": [None, -1, 1, 2],
            "readonly": [None, True, False],
            "max_version": [None, (1, 0), (1, 3), (0, 8), (2, 0)],
            "dl_device": [None, (1, 0), (2, 0)],
        }
        return {
            name: self.value() if self.one_in(6) else self.choose.choice(likely[name])
            for name in names
            if self.one_in(5)
        }

    def argument(self) -> Any:
        if self.one_in(10):
            return self.value()
        if self.objects and self.one_in(3):
            return self.choose.choice(self.objects)
        return self.producer()

    def call(self) -> Any:
        """Calls a function of dlbridge or of the extension with hostile arguments."""
        self.depth += 1
        try:
            choice = self.choose.randrange(8)
            options = ("device", "copy", "stream", "readonly")
            if choice == 0:
                return dlbridge.from_dlpack(self.argument(), **self.keywords(*options))
            if choice == 1:
                return dlbridge.as_tensor(self.argument(), **self.keywords(*options))
            if choice == 2:
                return dlbridge.to_dlpack(self.argument(), **self.keywords("max_version", "copy"))
            if choice == 3:
                return dlbridge.from_dlpack(self.capsule(self.one_in(2)))
            module: Any = getattr(extension, self.choose.choice(BINDINGS))
            if choice == 4:
                function = getattr(module, self.choose.choice(SEVERAL), module.first_of_two)
                if function is module.first_of_two:
                    return function(self.argument(), self.argument())
                return function([self.argument() for _ in range(self.choose.randrange(4))])
            if choice == 5:
                others: list[Any] = [extension.kind, extension.scale, extension.fast.dot]
                function = self.choose.choice(others)
                count = 2 if function is extension.fast.dot else 1
                return function(*[self.argument() for _ in range(count)])
            return getattr(module, self.choose.choice(ONE))(self.argument())
        finally:
            self.depth -= 1

    def use(self, result: Any) -> None:
        """Exports and frees a tensor that dlbridge returned."""
        if not isinstance(result, dlbridge.Tensor):
            return
        str((result.shape, result.strides, result.dtype, result.device, result.flags, result))
        if self.one_in(2):
            names = ("stream", "max_version", "dl_device", "copy")
            capsule = result.__dlpack__(**self.keywords(*names))
            if self.one_in(2):
                del result
            if self.one_in(2):
                how: Any = self.choose.choice(["here", "nogil", "thread", "pending"])
                foreign.consume(capsule).release(how)
        elif self.one_in(2):
            memoryview(result).release()

    def attempt(self) -> None:
        """Calls a function, uses its result, and counts a refusal."""
        try:
            self.use(self.call())
        except SystemError as error:  # hostile code does not raise it: a C function broke a rule
            self.violations.append(repr(error))
        except Exception:
            self.refused += 1

    def run(self) -> int:
        """Runs the round. Returns the number of calls that were refused."""
        for _ in range(self.choose.randrange(1, 4)):
            self.attempt()
        for each in (self.objects, self.classes, self.capsules):
            each.clear()  # the collector does not see cycles through objects without a __dict__
        assert not self.violations, self.violations
        return self.refused


class Odd:
    """An object whose conversions run hostile code."""

    def __init__(self, of: Round) -> None:
        self.of = of

    def answer(self, *arguments: Any, **keywords: Any) -> Any:
        self.of.misbehave()
        return self.of.choose.choice([0, 1, -1, True, "1", None, 2**80])

    __bool__ = __index__ = __int__ = __float__ = __len__ = __eq__ = __hash__ = answer
    __iter__ = __getitem__ = __call__ = __str__ = __repr__ = answer
    __cuda_stream__ = __array_interface__ = answer

    @property
    def cuda_stream(self) -> Any:
        return self.answer()

    @property
    def ptr(self) -> Any:
        return self.answer()


class OddTuple(tuple[int, ...]):
    """A pair whose elements run hostile code."""

    def __new__(cls, of: Round) -> OddTuple:
        made = super().__new__(cls, (Odd(of), Odd(of)))  # type: ignore[arg-type]
        return made

    def __len__(self) -> int:
        return 7

    def __getitem__(self, key: Any) -> Any:
        raise Misstep


class OddText(str):
    """A name whose comparison runs hostile code."""

    of: Round

    def __new__(cls, of: Round) -> OddText:
        made = super().__new__(cls, of.choose.choice(["cpu", "cuda:1", "max_version"]))
        made.of = of
        return made

    def __eq__(self, other: object) -> bool:
        self.of.misbehave()
        return False

    __hash__ = str.__hash__


def run(count: int, seed: int, first: int = 0) -> int:
    """Runs rounds, and checks that every deleter ran once. Returns the number of refusals."""
    gc.collect()
    gc.freeze()  # so that the collection after each round is fast
    refused = 0
    try:
        for number in range(first, first + count):
            before = foreign.accounts()
            try:
                refused += Round(seed, number).run()
                gc.collect()
                exports, calls = foreign.accounts()
                freed = (exports - before[0], calls - before[1])
                assert freed[0] == freed[1], f"{freed[0]} exports, {freed[1]} deleter calls"
            except BaseException as error:
                raise AssertionError(f"round {number} of seed {seed}: {error!r}") from error
    finally:
        gc.unfreeze()
    return refused


if __name__ == "__main__":
    numbers = [int(each) for each in sys.argv[1:]]
    if len(numbers) not in (2, 3):
        sys.exit(__doc__)
    try:
        total = run(*numbers)
    except AssertionError:
        traceback.print_exc()
        sys.exit(1)
    print(f"{numbers[0]} rounds, {total} calls refused, no other outcome")
