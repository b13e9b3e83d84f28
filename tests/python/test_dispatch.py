# SPDX-License-Identifier: BSD-3-Clause
"""Which of several overloads and alternatives a call reaches, and what refused calls state, with
both bindings."""

from __future__ import annotations

import gc
import importlib
import importlib.util
import os
import subprocess
import sys
import weakref
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from cpython_build import FREE_THREADED

import dlbridge
from bindings import MODULES
from rows import JAX_IS_VERSIONED

PEERS = [name for name in ("numpy", "torch") if importlib.util.find_spec(name)]
BORROWS = not FREE_THREADED and np.lib.NumpyVersion(np.__version__) >= "2.1.0"

FLOATS = np.ones(3, "float32")
DOUBLES = np.ones(3)


class RaisesOnce:
    """A sequence of numbers whose element 1 raises an exception when it is first read."""

    def __init__(self, exception: BaseException) -> None:
        self.exceptions = [exception]

    def __len__(self) -> int:
        return 3

    def __getitem__(self, i: int) -> float:
        if i == 1 and self.exceptions:
            raise self.exceptions.pop()
        if i == len(self):
            raise IndexError
        return float(i)


def importer(peer: str) -> Callable[[Any], Any]:
    """How a library makes its array of one of NumPy."""
    # from_dlpack of NumPy 1 returns a read-only array, which has no __dlpack__
    name = "asarray" if peer == "numpy" else "from_dlpack"
    function: Callable[[Any], Any] = getattr(importlib.import_module(peer), name)
    return function


def test_the_binding_library_converts_what_dlbridge_does_not(extension: Any) -> None:
    assert extension.nested([[FLOATS]]) == 1
    assert extension.nested([[DOUBLES, DOUBLES]]) == 12
    assert extension.has_row((FLOATS, extension.Row()))
    assert extension.count_samples((FLOATS, extension.Samples([1.0, 2.0]))) == 2
    assert type(extension.with_samples(FLOATS)[1]) is extension.Samples
    with pytest.raises(TypeError):
        extension.nested([["no tensor"]])
    with pytest.raises(TypeError):
        extension.has_row((FLOATS, extension.Holder()))


class Resizing(float):
    """A number whose look-up of `__dlpack__` changes an array."""

    array: Any = None

    @property
    def __dlpack__(self) -> Any:
        if self.array is not None:
            self.array.resize(1_000_000, refcheck=False)
        raise AttributeError


def test_a_span_is_confirmed_after_an_alternative_refused(extension: Any) -> None:
    number = Resizing(1)
    for _ in range(3):  # to know the types
        assert extension.extent_beside_variant([FLOATS, number]) == 3
    array = np.ones(3, "float32")
    number.array = array
    if BORROWS:
        assert extension.extent_beside_variant([array, number]) == 1_000_000
    else:  # the ndarray was imported by __dlpack__: NumPy before 2.1, or Python without the GIL
        with pytest.raises(TypeError, match="a tensor that stays as it is during the call"):
            extension.extent_beside_variant([array, number])


def test_the_reasons_of_alternatives_are_forgotten_when_one_fits(extension: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.stale(DOUBLES, np.ones(3, "float32"), np.ones(4, "float32"))
    assert "'x'" not in str(raised.value) and "'z'" in str(raised.value)
    with pytest.raises(TypeError) as raised:
        extension.stale(DOUBLES, np.ones(3, "float32"), DOUBLES)
    assert "'x'" not in str(raised.value) and "'z'" in str(raised.value)
    with pytest.raises(TypeError, match="element 1") as raised:
        extension.stale_in_tuple((DOUBLES, 3))
    assert "float32" not in str(raised.value)


def test_a_number_that_is_converted_precedes_the_tensor(extension: Any) -> None:
    for factor in (2, 2.0, np.float64(2)):
        assert extension.scaled(factor, FLOATS) == "float32"
        assert extension.scaled(factor, DOUBLES) == "float64"
    with pytest.raises(TypeError, match="int8"):
        extension.scaled(2, np.ones(3, "int8"))


class Reflected:
    def __radd__(self, other: Any) -> str:
        return "reflected sum"

    def __rsub__(self, other: Any) -> str:
        return "reflected difference"


def test_operators_try_all_overloads_and_then_the_other_operand(extension: Any) -> None:
    row = extension.Row()
    assert row.__add__(FLOATS) == "float32"
    assert row.__add__(DOUBLES) == "float64"
    assert row.__sub__(FLOATS) == "float32"
    assert row.__add__("text") is NotImplemented
    assert row.__sub__(DOUBLES) is NotImplemented
    assert row + Reflected() == "reflected sum"
    assert row - Reflected() == "reflected difference"
    with pytest.raises(TypeError, match="unsupported operand"):
        row + "text"


def test_the_library_of_a_view_is_that_of_an_element(extension: Any) -> None:
    for _ in range(200):
        view = extension.Row().view_like(np.ones((2, 2), "float32"))
        assert type(view) is np.ndarray and view.tolist() == [1, 2]
        view = extension.Row().view_like(each for each in np.ones((2, 2), "float32"))
        assert type(view) is np.ndarray and view.tolist() == [1, 2]
    gc.collect()


def test_a_view_that_is_optional_is_of_the_library_that_returns_names(extension: Any) -> None:
    row = extension.Row()
    assert row.view_or_none(True) is None
    view = row.view_or_none(False)
    assert type(view) is np.ndarray and view.tolist() == [1, 2]


def test_each_overload_states_which_extents_disagree(extension: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.of_one_length(np.ones(3, "float32"), np.ones(4, "float32"))
    text = str(raised.value)
    assert "argument 'y'" in text.split("\n2. ")[0] and "n = 3" in text, text
    assert "float64" in text.split("\n2. ")[1]


def test_an_overload_that_plain_bindings_added(extension: Any) -> None:
    assert extension.plain_after("text") == "text"
    assert extension.plain_after(FLOATS) == "float32"
    with pytest.raises(TypeError):
        extension.plain_after(DOUBLES)
    with pytest.raises(TypeError):
        extension.plain_after(each for each in [DOUBLES])
    assert extension.plain_rows([FLOATS, FLOATS]) == 2
    with pytest.raises(TypeError):
        extension.plain_rows([DOUBLES])


LIBRARY = "incompatible function arguments"  # a refusal in the words of the binding library


def test_the_binding_library_states_why_it_converts_no_other_argument(extension: Any) -> None:
    with pytest.raises(TypeError, match=rf"^scale\(\): {LIBRARY}"):
        extension.scale(FLOATS.copy(), "1.5")
    with pytest.raises(TypeError, match=rf"^count_of\(\): {LIBRARY}"):
        extension.Holder.count_of(3, FLOATS)
    with pytest.raises(TypeError, match="missing argument 'self'"):
        extension.Holder.count_of()
    assert extension.small(255, FLOATS) == 255
    with pytest.raises(TypeError, match=rf"^small\(\): {LIBRARY}"):
        extension.small(256, FLOATS)
    with pytest.raises(TypeError, match="argument 'x': expected float32"):  # beside a wrong number
        extension.scale(DOUBLES, "1.5")
    with pytest.raises(TypeError, match=rf"(?s){LIBRARY}.*std::multimap<int, "):
        extension.packs.unconverted({1: 2.0}, FLOATS)


class TestPybind11:
    @pytest.fixture
    def extension(self) -> Any:
        return importlib.import_module("extension")

    def test_an_overload_that_plain_bindings_added_between(self, extension: Any) -> None:
        function = extension.plain_between
        assert function("text") == "text" and function(DOUBLES) == "float64"
        with pytest.raises(TypeError) as raised:
            function(np.ones(3, "int8"))
        lines = str(raised.value).splitlines()
        assert [line[:20] for line in lines[1::2]] == [
            "1. plain_between(x: ", "2. plain_between(x: ", "3. plain_between(x: "
        ]  # fmt: skip
        assert "str" in lines[3] and "float64" in lines[5]
        assert "expected float32" in lines[2] and "expected float64" in lines[6]
        assert lines[4] == "  the arguments are not those of this signature"
        assert function.__doc__.count("Overloaded function.") == 1
        assert function.__doc__.count("Takes float32.") == 1

    def test_an_overload_that_plain_bindings_added_before(self, extension: Any) -> None:
        assert extension.plain_before("text") == extension.plain_before_two("text") == "text"
        assert extension.plain_before(FLOATS) == extension.plain_before_two(FLOATS) == "float32"
        for refused in (3, np.ones(3, "int8")):
            with pytest.raises(TypeError, match=r"(?s)1\. plain_before\(x: str\).*2\. .*float32"):
                extension.plain_before(refused)
            with pytest.raises(TypeError) as raised:
                extension.plain_before_two(refused)
            text = str(raised.value)
            assert (
                0 < text.find("1. plain_before_two(x: str)") < text.find("2. ") < text.find("3. ")
            )

    def test_the_type_error_of_an_overload_that_plain_bindings_added(self, extension: Any) -> None:
        assert extension.plain_throws(FLOATS) == "float32" and extension.plain_throws(3) == "object"
        with pytest.raises(TypeError, match=r"^no colour: red$"):
            extension.plain_throws("red")

    @pytest.mark.parametrize("exception", [KeyboardInterrupt("stop"), MemoryError()], ids=repr)
    def test_an_exception_of_an_element_that_must_reach_the_caller(
        self, extension: Any, exception: BaseException
    ) -> None:
        with pytest.raises(type(exception)) as raised:
            extension.numbers_and_floats(RaisesOnce(exception), DOUBLES)
        assert raised.value is exception

    def test_parameters_are_named_beside_packs(self, extension: Any) -> None:
        with pytest.raises(TypeError, match="argument 'y'"):
            extension.packs.with_keywords(FLOATS, DOUBLES)
        with pytest.raises(TypeError, match="argument 'x'"):
            extension.packs.with_packs(DOUBLES, 1, y=FLOATS)
        with pytest.raises(TypeError, match="argument 'y'"):
            extension.packs.with_packs(FLOATS, 1, 2, y=DOUBLES)

    def test_none_is_no_object_of_a_class_in_a_container(self, extension: Any) -> None:
        assert extension.none_or_class((FLOATS, None)) == "number"
        assert extension.none_or_class((FLOATS, extension.Row())) == "class"

    def test_a_caster_that_throws_ends_the_call(self, extension: Any) -> None:
        assert extension.strict_first(extension.Strict()) == "strict"
        assert extension.strict_first(FLOATS) == "float32"
        with pytest.raises(ValueError, match="no strict one"):
            extension.strict_first("text")

    def test_none_is_a_smart_pointer(self, extension: Any) -> None:
        assert not extension.has_samples((FLOATS, None))
        assert extension.has_samples((FLOATS, extension.Samples([1.0])))

    def test_a_view_does_not_outlive_a_converted_argument(self, extension: Any) -> None:
        for values_of in (extension.values_of, extension.values_of_shared):
            view = np.from_dlpack(values_of(extension.Measured(2.0)))
            assert view.tolist() == [2, 0]
            with pytest.raises(
                TypeError, match="converted for this call only; pass an object of the class itself"
            ):
                values_of(2.0)


@pytest.mark.skipif("nanobind_extension" not in MODULES, reason="needs the module of nanobind")
class TestNanobind:
    @pytest.fixture
    def extension(self) -> Any:
        return importlib.import_module("nanobind_extension")

    def test_none_is_a_value_of_a_variant_with_monostate(self, extension: Any) -> None:
        assert extension.none_or_tensor(None) == 0
        assert extension.none_or_tensor(DOUBLES) == 2
        signature = extension.none_or_tensor.__doc__
        assert signature.count("None") + signature.count("Optional") == 1  # before CPython 3.10

    def test_new_makes_the_object(self, extension: Any) -> None:
        assert type(extension.Counted(FLOATS)) is extension.Counted
        assert type(extension.Counted(x=FLOATS)) is extension.Counted
        with pytest.raises(TypeError, match="'x': expected float32"):
            extension.Counted(DOUBLES)
        with pytest.raises(TypeError, match="takes 1 argument, not 2"):
            extension.Counted(FLOATS, FLOATS)
        # nanobind's own overload without arguments is for pickle. Before CPython 3.11 it is called,
        # as classes do not inherit nanobind's vectorcall, and nanobind refuses the call afterwards.
        by_nanobind = sys.version_info < (3, 11)
        reason = "incompatible function arguments" if by_nanobind else "is missing argument 'x'$"
        with pytest.raises(TypeError, match=reason):
            extension.Counted()
        with pytest.raises(
            TypeError, match=r"^Counted\(\) got an unexpected keyword argument 'y'$"
        ):
            extension.Counted(y=FLOATS)

    @pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
    def test_an_object_without_init_is_refused(self, extension: Any) -> None:
        empty = extension.Counted.__new__(extension.Counted)
        with pytest.raises(TypeError, match=LIBRARY):
            extension.counted(empty, FLOATS)

    def test_refused_overloads_show_their_defaults(self, extension: Any) -> None:
        with pytest.raises(TypeError) as raised:
            extension.with_defaults(3)
        lines = str(raised.value).splitlines()
        assert "y: int = 5, z: float = 2.5, c: " in lines[1] and "= None)" in lines[1]
        assert "y: str = 'a')" in lines[2]

    def test_the_first_exception_of_a_producer_is_the_cause(self, extension: Any) -> None:
        failure = ValueError("no device")

        class Failing:
            def __dlpack__(self, **_: Any) -> Any:
                raise failure

            def __dlpack_device__(self) -> Any:
                raise failure

        with pytest.raises(TypeError, match="no device") as raised:
            extension.with_defaults(Failing())
        assert raised.value.__cause__ is failure

    def test_extras_of_one_accessor(self, extension: Any) -> None:
        holder = extension.Holder()
        holder.length = np.ones(5, "float32")
        assert holder.length == 5
        assert extension.Holder.length.__doc__ == "The number of values."
        with pytest.raises(TypeError, match="'like': expected float32"):
            holder.length = DOUBLES

    def test_an_overload_may_pass_a_call_on(self, extension: Any) -> None:
        for _ in range(100):
            assert extension.passed_on(np.ones(2, "float32")) == 2
            assert extension.passed_on(np.ones(5, "float32")) == 105

    def test_a_number_precedes_the_tensor_of_a_plain_overload(self, extension: Any) -> None:
        assert extension.scaled_or_text(2, FLOATS) == "float32"
        assert extension.scaled_or_text(2, "text") == "text"

    def test_keep_alive_keeps_the_argument_of_several_overloads(self, extension: Any) -> None:
        array = np.full(1000, 7, "float32")
        alive = weakref.ref(array)
        window = extension.window(array)
        del array
        gc.collect()
        assert alive() is not None and window.first() == 7
        del window
        gc.collect()
        assert alive() is None

    @pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
    def test_an_object_that_its_class_created_is_not_taken(self, extension: Any) -> None:
        """nanobind transfers ownership only of objects that C++ allocated."""
        row = extension.Row()
        with pytest.raises(TypeError, match=rf"^take_row\(\): {LIBRARY}"):
            extension.take_row(row, FLOATS)
        assert extension.read_row(row, FLOATS) == extension.take_any_row(row, FLOATS)

    def test_none_in_place_of_a_pointer_or_a_tensor(self, extension: Any) -> None:
        """nanobind passes None to no such parameter, although the pointer alone takes it."""
        assert extension.cargo_or_span(FLOATS) == 1
        with pytest.raises(TypeError, match=rf"^cargo_or_span\(\): {LIBRARY}"):
            extension.cargo_or_span(None)


def test_the_policy_of_a_method_applies_to_the_elements_of_its_result(extension: Any) -> None:
    derived = type("Derived", (extension.Holder,), {})  # whose objects have weak references
    holder = derived()
    tensor, inner = holder.with_inner(FLOATS)
    assert np.array_equal(np.from_dlpack(tensor), FLOATS)
    alive = weakref.ref(holder)
    del holder
    gc.collect()
    assert alive() is not None
    assert isinstance(inner, extension.Samples)
    del inner
    gc.collect()
    assert alive() is None
    holder = extension.Holder()
    assert holder.with_inner(FLOATS)[1] is holder.inner


def test_a_pointer_in_a_result_is_owned_unless_a_policy_states_otherwise(extension: Any) -> None:
    before = extension.count_counted()
    result = extension.with_counted(FLOATS)
    assert extension.count_counted() == before + 1
    del result
    gc.collect()
    assert extension.count_counted() == before


def test_views_in_a_container_keep_the_object(extension: Any) -> None:
    holder = extension.Holder()
    (view,) = holder.views()
    assert isinstance(view, np.ndarray)
    count, beside = holder.view_beside(FLOATS)
    assert count == 3 and isinstance(beside, np.ndarray)
    view[0] = 7
    del holder
    gc.collect()
    assert beside.tolist() == [7, 2, 3]


def test_a_property_without_setter(extension: Any) -> None:
    holder = extension.Holder()
    assert holder.values.tolist() == [1, 2, 3]
    with pytest.raises(AttributeError):
        holder.values = FLOATS


def test_bools_and_text_are_elements(extension: Any) -> None:
    assert extension.kinds_of_elements((FLOATS, np.bool_(True), "a")) == (True, "a")
    assert extension.kinds_of_elements([FLOATS, False, "größe"]) == (False, "größe")
    with pytest.raises(TypeError, match="element 1: expected a bool; got int"):
        extension.kinds_of_elements((FLOATS, 1, "a"))
    with pytest.raises(TypeError, match="element 2: expected a str; got int"):
        extension.kinds_of_elements((FLOATS, True, 97))


# Objects that the type of an overload accepts as they are.
EXACT: dict[str, list[Any]] = {
    "optional_first": [None, 1.5],
    "complex_first": [1j],
    "variant_first": [1.5, "text"],
    "vector_first": [[True, False]],
    "pair_first": [(True, False)],
}


@pytest.mark.parametrize("name", EXACT)
@pytest.mark.parametrize("peer", PEERS)
def test_an_overload_of_another_type_that_converts_comes_last(
    extension: Any, name: str, peer: str
) -> None:
    function = getattr(extension, name)
    is_sequence = name in ("vector_first", "pair_first")
    array = importer(peer)(np.ones(2 if is_sequence else 1))
    assert (function(array), function(x=array)) == ("tensor", "tensor")
    for each in EXACT[name]:
        assert (function(each), function(x=each)) == ("first", "first")


def test_an_overload_without_a_conversion_precedes_one_with(extension: Any) -> None:
    assert extension.converted_or_any(DOUBLES) == "converted"
    assert extension.converted_or_any(FLOATS) == "any"  # "converted" before the order was theirs


def test_a_keyword_selects_the_overload_that_the_position_selects(extension: Any) -> None:
    one = np.ones(1)
    assert extension.beside(FLOATS, one) == extension.beside(FLOATS, y=one) == "tensor"
    assert extension.beside(y=one, x=FLOATS) == "tensor"
    assert extension.beside(FLOATS, True) == extension.beside(FLOATS, y=True) == "bool"


def test_a_keyword_that_is_no_text_is_refused(extension: Any) -> None:
    for call in (extension.beside, extension.has_row):  # with overloads, and without
        with pytest.raises((TypeError, UnicodeEncodeError)):
            call(FLOATS, **{"\ud800": 1})


def test_an_alternative_that_converts_its_elements_comes_last(extension: Any) -> None:
    assert extension.optional_or_span(np.ones(1)) == 1
    assert [extension.optional_or_span(each) for each in (None, 1.5, 1)] == [0, 0, 0]
    assert extension.vector_or_span(np.ones(2, "float32")) == 1
    assert [extension.vector_or_span(each) for each in ([1.5], [1, 2])] == [0, 0]
    assert extension.vectors([np.ones(1, "float32"), np.ones(1, "float32")]) == 1
    assert extension.pairs((1, 2)) == 1
    assert [extension.pairs(each) for each in ((1.5, 2.0), (1, 2.5))] == [0, 0]


@pytest.mark.parametrize("length", [1, 2])
def test_an_overload_that_converts_comes_last(extension: Any, length: int) -> None:
    assert extension.exact_first(np.ones(length, "float32")) == "float32"
    assert extension.exact_first(True) == "bool"
    assert extension.exact_first(2.0) == "number"
    assert extension.exact_first(np.float32(2)) in {"bool", "number"}  # both convert it
    with pytest.raises(TypeError) as refused:
        extension.exact_first("text")
    lines = str(refused.value).splitlines()
    assert [line[:2] for line in lines[1:]] == ["1.", "2.", "  ", "3.", "  "]
    assert "float32" in lines[4] and "not a DLPack producer" in lines[5]


def test_a_method_is_static_or_not(extension: Any) -> None:
    holder = extension.Holder
    if extension.__name__ == "extension":
        for text in (holder.after_static, holder.after_method):
            assert "both static and instance methods is not supported" in text
    else:  # nanobind would end the process
        assert "a static method of_none already" in holder.after_static
        assert "of_none cannot be an instance method too" in holder.after_static
        assert "an instance method of_object already" in holder.after_method
        assert "Holder'>" in holder.after_method
    assert holder.of_none() is None and holder().of_object() == "method"


@pytest.mark.parametrize("extents", [[1] * 65, [1] * 5000, [2, -1], [-(2**63)]], ids=len)
@pytest.mark.parametrize("peer", [*PEERS, "dlbridge"])
def test_extents_that_no_library_receives(extension: Any, peer: str, extents: Any) -> None:
    x = importer(peer)(FLOATS)
    assert extension.floats_like(x, [2, 0]).shape == (2, 0)
    with pytest.raises(
        ValueError, match=r"expected (extents of 0 and above|at most 64 extents); got"
    ):
        extension.floats_like(x, extents)


@pytest.mark.parametrize("peer", PEERS)
def test_the_message_of_an_allocator_lacks_its_frames(extension: Any, peer: str) -> None:
    with pytest.raises((BufferError, MemoryError, ValueError)) as raised:
        extension.floats_like(importer(peer)(FLOATS), [2**61, 2**61])
    assert "\n" not in str(raised.value) and "frame" not in str(raised.value)


def test_buffers_and_numbers(extension: Any) -> None:
    for accepted in (b"abc", [1, 2, 3], np.ones(3, "uint8"), range(3)):
        assert extension.numbers_or_buffer(accepted) == 3
    with pytest.raises(TypeError, match="expected an integer of 8 bits"):
        extension.numbers_or_buffer([256])


@pytest.mark.parametrize("peer", PEERS)
def test_an_array_with_dimensions_is_no_number(extension: Any, peer: str) -> None:
    x = importer(peer)
    assert extension.float_or_span(x(np.ones((), "float64"))) == 0
    assert extension.float_or_span(x(FLOATS[:1])) == 1
    for number in (1, 1.5, True, np.float32(1), np.float64(1), np.int8(1)):
        assert extension.float_or_span(number) == 0
    for count in (1, 2):
        with pytest.raises(TypeError, match="expected a float; got "):
            extension.float_or_span(x(np.ones(count)))


def test_the_positions_of_alternatives_precede_the_reasons(extension: Any) -> None:
    with pytest.raises(TypeError, match=r"'x': expected None; .*; or element 0: not a DLPack"):
        extension.lists_or_none([3])


def test_methods_do_not_count_their_object(extension: Any) -> None:
    holder = extension.Holder()
    with pytest.raises(TypeError, match="argument 1: expected float32"):
        holder.count_of(DOUBLES)
    with pytest.raises(TypeError, match=r"argument 2: .*argument 1"):
        holder.lengths_agree(FLOATS, FLOATS[:2])


def test_a_property_refers_to_the_object(extension: Any) -> None:
    holder = extension.Holder()
    assert holder.inner is holder.inner
    assert holder.count_of(FLOATS) == 3


OUTLIVING = """
import atexit, gc, sys
import nanobind_extension
function = nanobind_extension.plain_rows
sys.modules.clear()
sys.modules["atexit"] = atexit  # CPython 3.9 calls it at the end, and crashes without it
del nanobind_extension
gc.collect()
others = [bytes(n) for n in range(20, 90) for _ in range(50)]
for _ in range(3):
    try:
        function(3)
    except TypeError:
        continue
    raise SystemExit("a number was accepted")
"""


@pytest.mark.skipif("nanobind_extension" not in MODULES, reason="needs the module of nanobind")
def test_a_function_outlives_its_module() -> None:
    done = subprocess.run(
        [sys.executable, "-c", OUTLIVING],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_refused_call_takes_no_object(extension: Any) -> None:
    """The tensors are imported before the function takes ownership of a std::unique_ptr."""
    cargo = extension.Cargo()
    for wrong in ([FLOATS, FLOATS[:2]], [FLOATS, None], [DOUBLES, FLOATS]):
        with pytest.raises(TypeError, match=r"load\(\): argument '[xy]'"):
            extension.load(cargo, *wrong)
        assert cargo.weight == 4
    with pytest.raises(TypeError):
        extension.load_any(cargo, "no tensor")
    assert cargo.weight == 4
    assert extension.load(cargo, FLOATS, FLOATS) == 4
    assert extension.load_any(extension.Cargo(), DOUBLES) == "float64"
    assert extension.load_any(extension.Cargo(), x=FLOATS) == "float32"


@pytest.mark.filterwarnings("ignore:nanobind:RuntimeWarning")
def test_an_object_that_was_taken_is_refused(extension: Any) -> None:
    cargo = extension.Cargo()
    extension.load(cargo, FLOATS, FLOATS)
    with pytest.raises((TypeError, ValueError)):
        extension.load(cargo, FLOATS, FLOATS)


def test_names_of_parameters_beyond_ascii(extension: Any) -> None:
    assert extension.sized(FLOATS, größe=FLOATS[:1]) == "tensor"
    assert extension.sized(FLOATS, größe=True) == "bool"
    with pytest.raises(TypeError, match="argument 'größe': not a DLPack producer"):
        extension.sized(FLOATS, größe="s")
    with pytest.raises((TypeError, UnicodeEncodeError)):
        extension.sized(FLOATS, **{"gr\udc80": 1})


class Holds:
    """Exports a capsule once."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **_: Any) -> Any:
        return self.capsule


def test_a_function_returns_the_capsule_of_a_tensor(extension: Any) -> None:
    x = np.arange(3.0)
    capsule = extension.legacy_capsule(x)
    assert 'capsule object "dltensor"' in repr(capsule)
    y = np.from_dlpack(Holds(capsule))
    assert y.tolist() == [0, 1, 2]
    assert np.shares_memory(x, y)
    assert 'capsule object "used_dltensor"' in repr(capsule)


EXPORTS: dict[str, Any] = {
    "numpy": np.from_dlpack,
    "dlbridge, by the exchange table": dlbridge.from_dlpack,
    "a copy": lambda x: dlbridge.from_dlpack(x, copy=True),
}


FRACTIONS: list[Any] = [
    1.5, np.float32(1.5), np.float16(1.5), np.longdouble(1.5), np.array(1.5), np.float64(1.5),
    Decimal("1.5"), Fraction(3, 2), dlbridge.from_dlpack(np.array(1.5)),
]  # fmt: skip
if "torch" in PEERS:
    FRACTIONS.append(importlib.import_module("torch").tensor(1.5))


@pytest.mark.parametrize("number", FRACTIONS, ids=lambda x: type(x).__name__)
def test_no_overload_truncates_a_number(extension: Any, number: Any) -> None:
    assert extension.kind_of_number(number, FLOATS) == "float"
    assert extension.kind_of_number(n=number, x=FLOATS) == "float"
    assert extension.number_beside_tensor(number) == 1
    with pytest.raises(
        TypeError, match=r"(?s)count_or_tensor\(\): .*\n  the arguments are not those of"
    ):
        extension.count_or_tensor(Fraction(3, 2))


@pytest.mark.parametrize("number", [2, True, np.int8(2), np.uint64(2), np.array(2)], ids=repr)
def test_an_integer_is_one_for_every_overload(extension: Any, number: Any) -> None:
    assert extension.kind_of_number(number, FLOATS) == "int"
    assert extension.count_or_tensor(number) == "int"


def test_an_array_of_one_element_is_no_integer(extension: Any) -> None:
    assert extension.count_or_tensor(np.array([1.5])) == "tensor"
    for peer in PEERS:
        x = importer(peer)(np.array([1.5], "float32"))
        with pytest.raises(TypeError, match=r"got float32\[1\] on cpu: dtype differs"):
            extension.count_or_tensor(x)


@pytest.mark.parametrize("number", FRACTIONS, ids=lambda x: type(x).__name__)
def test_what_pybind11_truncates(number: Any) -> None:
    """Not a rule of dlbridge: the page on extensions states it, with noconvert() as the remedy."""
    module: Any = importlib.import_module("extension")
    if isinstance(number, float):
        with pytest.raises(TypeError, match=LIBRARY):
            module.steps(number, FLOATS)
        assert module.number(number, FLOATS) == module.exact_number(number, FLOATS) == 1.5
    else:
        assert module.steps(number, FLOATS) == module.number(number, FLOATS) == 1
        with pytest.raises(TypeError, match=LIBRARY):
            module.exact_number(number, FLOATS)
    with pytest.raises(TypeError, match=LIBRARY):
        module.exact_steps(number, FLOATS)
    for integer in (2, np.int8(2), np.array(2)):
        assert module.steps(integer, FLOATS) == module.exact_steps(integer, FLOATS) == 2
        assert module.exact_number(integer, FLOATS) == 2
    assert module.exact_small(2, FLOATS) == 2
    with pytest.raises(TypeError, match=LIBRARY):
        module.exact_small(np.int8(2), FLOATS)


@pytest.mark.parametrize("export", EXPORTS)
def test_an_array_is_prepared_for_each_export(extension: Any, export: str) -> None:
    x = extension.Deferred()
    assert x.__dlpack_device__() == (1, 0)
    assert x.evaluations() == 0
    assert EXPORTS[export](x).tolist() == [1, 2]
    assert x.evaluations() == 1
    with pytest.raises(RuntimeError, match="no values to evaluate"):
        EXPORTS[export](extension.Deferred(fails=True))


def test_an_argument_is_prepared(extension: Any) -> None:
    y = np.from_dlpack(Holds(extension.legacy_capsule(extension.Deferred())))
    assert y.tolist() == [1, 2]
    with pytest.raises(TypeError, match="argument 'x': RuntimeError: no values to evaluate"):
        extension.legacy_capsule(extension.Deferred(fails=True))


def test_a_read_only_result(extension: Any) -> None:
    result = extension.constants(FLOATS)
    assert (result.tolist(), result.flags.writeable) == ([1, 2], False)
    jax = pytest.importorskip("jax")
    if JAX_IS_VERSIONED:
        assert extension.constants(jax.numpy.ones(3)).tolist() == [1, 2]
        return
    with pytest.raises(
        BufferError, match="For the author: return a copy, such as copy_of"
    ) as raised:
        extension.constants(jax.numpy.ones(3))
    assert "expected writable memory" in str(raised.value.__cause__)
