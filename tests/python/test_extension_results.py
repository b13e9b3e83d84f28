# SPDX-License-Identifier: BSD-3-Clause
"""Results: their Python types, the owners of their memory, and exceptions of the C++ function."""

from __future__ import annotations

import gc
import os
import struct
import subprocess
import sys
from typing import Any

import pytest

import dlbridge
import foreign
from bindings import BINDINGS, freed_once, function
from producers import Producer

OWNING = ["to_managed", "to_tensor", "to_any", "to_optional"]


def values(x: Any) -> Any:
    return memoryview(dlbridge.from_dlpack(x)).tolist()


@pytest.mark.parametrize("name", OWNING)
@pytest.mark.parametrize("binding", BINDINGS)
def test_every_kind_of_result(binding: str, name: str) -> None:
    x = function(binding, name)(4)
    assert type(x) is dlbridge.Tensor
    assert (x.dtype, x.shape, values(x)) == ("float32", (4,), [0, 1, 2, 3])
    assert not x.readonly


def test_a_function_object_and_a_result_by_rvalue_reference(extension: Any) -> None:
    assert extension.first_by_function(Producer(shape=(2,))) == 0
    assert extension.moved_text(Producer(shape=(2,))) == "moved"


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_shared_owner(binding: str) -> None:
    assert values(function(binding, "to_shared")(3)) == [1, 1, 1]


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_empty_optional_returns_none(binding: str) -> None:
    assert function(binding, "to_optional")(-1) is None
    assert function(binding, "optional_same")(None) is None


@pytest.mark.parametrize("binding", BINDINGS)
def test_an_argument_of_no_library_returns_as_a_tensor(binding: str) -> None:
    """A Producer belongs to no library. The Tensor shares its memory."""
    for name in ("same", "optional_same"):
        p = Producer(shape=(3,))
        result = function(binding, name)(p)
        assert type(result) is dlbridge.Tensor
        assert (result.data_ptr, p.calls) == (p.handle.address, [0])
        del result
        assert freed_once(p)


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_writable_argument_returns_as_the_object_of_the_caller(binding: str) -> None:
    np = pytest.importorskip("numpy")
    filled, same = function(binding, "filled"), function(binding, "any_same")
    array = np.zeros(3, "f4")
    subclass = array.view(type("Sub", (np.ndarray,), {}))
    for x in (array, dlbridge.from_dlpack(array), dlbridge.from_dlpack(array, copy=True), subclass):
        count = sys.getrefcount(x)
        assert filled(x) is x
        assert same(x) is x
        assert sys.getrefcount(x) == count
    assert array.tolist() == [7, 7, 7]
    p = Producer(shape=(3,))
    assert filled(p) is p
    assert freed_once(p)


@pytest.mark.parametrize("binding", BINDINGS)
def test_a_copy_and_a_capsule_return_as_a_new_object(binding: str) -> None:
    """The memory is not that of the caller's object."""
    np = pytest.importorskip("numpy")
    array = np.zeros(3, "f4")

    class Copies:
        def __dlpack__(self, **_: Any) -> Any:
            return dlbridge.from_dlpack(array).__dlpack__(max_version=(1, 0), copy=True)

        def __dlpack_device__(self) -> tuple[int, int]:
            return (1, 0)

    for x in (Copies(), dlbridge.from_dlpack(array.copy()).__dlpack__(max_version=(1, 0))):
        result = function(binding, "filled")(x)
        assert (type(result), values(result)) == (dlbridge.Tensor, [7, 7, 7])
    assert array.tolist() == [0, 0, 0]


def test_the_library_of_the_argument_allocates(extension: Any) -> None:
    np = pytest.importorskip("numpy")
    # [like]
    y = extension.doubled(np.ones(3, "float32"))  # an array of NumPy
    # [/like]
    assert (type(y), y.tolist()) == (np.ndarray, [2, 2, 2])


def test_a_vector_lives_as_long_as_its_arrays(extension: Any) -> None:
    pytest.importorskip("numpy")
    # [build]
    a = extension.count_to(4)  # the array owns the vector
    tail = a[1:]
    del a
    assert tail.tolist() == [1, 2, 3]
    del tail  # no array is left: the vector is destroyed here
    # [/build]


def test_out_is_the_result(extension: Any) -> None:
    np = pytest.importorskip("numpy")
    x, y = np.ones(3, "f4"), np.zeros(3, "f4")
    assert extension.doubled_into(x, out=y) is y
    assert y.tolist() == [2, 2, 2]
    new = extension.doubled_into(x)
    assert (type(new), new.tolist()) == (np.ndarray, [2, 2, 2])
    assert not np.shares_memory(new, x)
    tensor = dlbridge.from_dlpack(y)
    assert extension.doubled_into(x, out=tensor) is tensor
    assert extension.filled_ndarray(y) is y
    assert type(extension.filled_ndarray(tensor)) is np.ndarray
    assert extension.filled_tensor(tensor) is tensor
    assert type(extension.filled_tensor(y)) is dlbridge.Tensor
    with pytest.raises(TypeError, match=r"argument 'out': .*with n = 3 as in 'x'"):
        extension.doubled_into(x, out=np.zeros(4, "f4"))


@pytest.mark.parametrize("binding", BINDINGS)
def test_new_memory_like_an_argument(binding: str) -> None:
    doubled = function(binding, "doubled")(Producer(shape=(3,)))
    assert (type(doubled), values(doubled)) == (dlbridge.Tensor, [0, 2, 4])
    assert doubled.data_ptr % 64 == 0
    for shape in ((), (0,), (2, 0, 3), (2, 3)):
        wide = function(binding, "widened")(Producer(shape=shape))
        assert (wide.dtype, wide.shape) == ("float64", shape)


@pytest.mark.parametrize("way", ["by_def", "by_fast"])
def test_an_owning_result_is_like_the_first_tensor(extension: Any, way: str) -> None:
    assert values(getattr(extension, way).counted_like(Producer(shape=(3,)))) == [0, 1, 2]
    assert values(extension.second_decides(None, Producer(shape=(2,)))) == [0, 1]


def test_a_result_is_converted_by_the_array_namespace(extension: Any) -> None:
    """The type of the argument belongs to none of the libraries that dlbridge lists."""
    tensors: list[dlbridge.Tensor] = []

    class Namespace:
        @staticmethod
        def from_dlpack(x: dlbridge.Tensor) -> str:
            tensors.append(x)
            return "converted"

    class Array(Producer):
        def __array_namespace__(self) -> Any:
            return Namespace

    p = Array(shape=(3,))
    for name in ("same", "doubled", "counted_like"):
        assert extension.by_def.__dict__[name](p) == "converted"
    assert [values(x) for x in tensors] == [[0, 1, 2], [0, 2, 4], [0, 1, 2]]
    tensors.clear()
    assert p.calls == [1, 1, 1]


def test_bases_that_change_while_the_library_is_found(extension: Any) -> None:
    """The classes of the argument stay alive: the memory of their tuple is not used again."""
    tuples = []

    class Base(Producer):
        pass

    class OfNumpy:
        __module__ = "numpy"

    class Meta(type):
        @property
        def __module__(cls) -> str:  # type: ignore[override]
            cls.__bases__ = (Producer,) if cls.__bases__ == (Base,) else (Base,)
            tuples.extend([tuple([OfNumpy] * n) for n in (3, 4) for _ in range(100)])
            return "none"

    class Array(Base, metaclass=Meta):
        pass

    result = extension.by_def.doubled(Array(shape=(2,)))
    assert type(result) is dlbridge.Tensor and tuples


def test_a_library_that_refuses_a_result() -> None:
    """The call raises the library's exception and frees the tensor."""

    class Namespace:
        @staticmethod
        def from_dlpack(x: dlbridge.Tensor) -> str:
            raise LookupError("refused")

    class Array(Producer):
        def __array_namespace__(self) -> Any:
            return Namespace

    p = Array(shape=(3,))
    for binding in BINDINGS:
        with pytest.raises(LookupError, match="refused"):
            function(binding, "same")(p)
    assert p.calls == [1] * len(BINDINGS)


def test_returns_dlbridge(extension: Any) -> None:
    assert type(extension.returns.dlbridge(3)) is dlbridge.Tensor
    assert [values(each) for each in extension.by_library.several(3)] == [[], [1], [1, 1]]


def test_returns_a_library_that_is_not_installed(extension: Any) -> None:
    with pytest.raises(ModuleNotFoundError, match="cupy"):
        extension.returns.cupy(3)


# Views of the members of an object.


def test_member_views_keep_their_object_alive(extension: Any) -> None:
    image = extension.Image(2, 3)
    image.fill(2)
    rows = [image.first_row, image.row(1), image.row(0)]
    assert [values(row) for row in rows] == [[2, 2, 2]] * 3
    assert rows[0].data_ptr == rows[2].data_ptr == rows[1].data_ptr - 12
    image.fill(5)
    assert values(rows[1]) == [5, 5, 5]
    del image
    assert values(rows[1]) == [5, 5, 5]


def test_a_member_view_by_a_function(extension: Any) -> None:
    image = extension.Image(2, 3)
    if extension.__name__ == "nanobind_extension":
        with pytest.raises(TypeError, match="return it from a method"):
            extension.first_row_of(image)
    else:
        row = extension.first_row_of(image)
        assert row.data_ptr == image.first_row.data_ptr
        image.fill(2)
        del image
        assert values(row) == [2, 2, 2]


def test_a_member_view_of_const_elements_is_read_only(extension: Any) -> None:
    image = extension.Image(2, 3)
    assert (image.row(1).readonly, image.constant_row(1).readonly) == (False, True)


def test_a_member_view_without_an_object(extension: Any) -> None:
    with pytest.raises(
        TypeError, match=r"^a dlbridge::member_view has no object to keep alive; return it"
    ):
        extension.row_of_no_object()


# Methods.


def test_methods(extension: Any) -> None:
    image = extension.Image(2, 3)
    image.fill(2)
    assert image.dot(Producer()) == 2 * (0 + 1 + 2 + 3 + 4 + 5)
    assert image.dot(other=image) == 24
    like = image.like(dlbridge.from_dlpack(Producer()))
    assert (type(like), like.shape) == (dlbridge.Tensor, (2, 3))
    assert image.add(Producer(byte_offset=4)) is image
    assert image.add(Producer(dtype=(2, 64, 1), fill=struct.pack("d", 4))) is image
    assert values(image.row(0))[0] == 7


# Exceptions of the C++ function.

FAILURES: list[tuple[int, str, str]] = [
    (0, "BufferError", "size overflows: expected less; got more"),
    (1, "KeyError", "an exception of the library"),
    (2, "RuntimeError", "a standard exception"),
    (3, "LookupError", "a Python exception"),
    (4, "LookupError", "a Python exception"),
    (5, "MemoryError", ""),
    (6, "TypeError", "of the function itself"),
    (7, "BufferError", "expected float64[2, 2] on cpu, writable; got float32[3] on cpu: dtype, "
     "rank differ"),
    (8, "IndexError", "a standard exception"),
    (9, "Registered", "a registered exception"),
    (10, "RuntimeError", "of another C++ runtime"),
    (11, "OverflowError", "a number"),
    (12, "ValueError", "a length"),
]  # fmt: skip


@pytest.mark.parametrize("how, kind, words", FAILURES)
@pytest.mark.parametrize("binding", BINDINGS)
def test_exceptions_are_translated(binding: str, how: int, kind: str, words: str) -> None:
    if (binding, how) == ("nanobind_extension.by_fast", 9):
        kind = "RuntimeError"  # it calls no registered translators
    with pytest.raises(Exception) as raised:
        function(binding, "fail")(how)
    assert type(raised.value).__name__ == kind
    assert words in str(raised.value)
    assert raised.value.__cause__ is None


def test_a_function_that_throws_frees_its_arguments(extension: Any) -> None:
    for how, kind, _ in FAILURES:
        p = Producer(shape=(3,))
        with pytest.raises(Exception) as raised:
            extension.fail_with(p, how)
        assert type(raised.value).__name__ == kind
        assert freed_once(p)


@pytest.mark.parametrize("binding", BINDINGS)
def test_results_are_freed_once(binding: str) -> None:
    gc.collect()
    exports, calls = foreign.accounts()
    for name in ("same", "optional_same", "doubled", "counted_like"):
        result = function(binding, name)(Producer(shape=(3,)))
        foreign.consume(result.__dlpack__()).release()
        del result
    now_exports, now_calls = foreign.accounts()
    assert now_exports - exports == now_calls - calls == 4


WITHOUT_THE_PACKAGE = """
import sys
sys.modules["dlbridge"] = None  # makes its import fail
import weakref
import extension, foreign

x = extension.by_def.to_managed(3)
assert type(x).__name__ == "PlainTensor"
assert repr(x) == "<dlbridge.PlainTensor float32[3] on cpu>"
assert x.__dlpack_device__() == (1, 0)
assert not hasattr(x, "shape")
assert x.__array__().shape == (3,)
assert x.__array__().ctypes.data == foreign.consume(x.__dlpack__()).data
for version in (None, (1, 0)):
    tensor = foreign.consume(x.__dlpack__(max_version=version))
    assert (tensor.shape, tensor.flags) == ((3,), version and 0)
    tensor.release()
copy = foreign.consume(x.__dlpack__(max_version=(1, 0), copy=True))
assert copy.flags == 2
copy.release()
try:
    type(x)()
except TypeError:
    pass
same = extension.by_fast.same(x)
assert type(same) is type(x) is type(extension.by_fast.doubled(same))
assert x == x and x != same and x != None and hash(x) == object.__hash__(x)
memory = memoryview(x)
assert (memory.format, memory.shape, memory.readonly) == ("f", (3,), False)
assert memory.tolist() == [*x]
try:
    bool(x)
except TypeError as error:
    assert "has no truth value" in str(error)
else:
    raise AssertionError(x)
del memory
reference = weakref.ref(x)
del x
assert reference() is None
print("done")
"""


def test_without_the_package_results_are_plain_tensors() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_THE_PACKAGE],
        env={**os.environ, "PYTHONPATH": os.environ["DLBRIDGE_TEST_MODULES"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("done\n", "")


def test_a_failed_import_of_dlbridge_is_tried_again() -> None:
    program = """
import sys
import extension

class Fails:
    def find_spec(self, name, path, target=None):
        if name == "dlbridge":
            raise OSError("no file descriptor is free")

finder = Fails()
sys.meta_path.insert(0, finder)
first = extension.by_def.to_tensor(2)
sys.meta_path.remove(finder)
import dlbridge
assert type(first) is not dlbridge.Tensor
assert type(extension.by_def.to_tensor(2)) is dlbridge.Tensor
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", program], env=environment, check=True)
