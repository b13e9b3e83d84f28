# SPDX-License-Identifier: BSD-3-Clause
"""Classes with def_dlpack as NumPy, buffers and the libraries that call np.asarray see them: plain
and growing ones, ones that share their memory, ones with operators, and on devices."""

from __future__ import annotations

import gc
import importlib.util
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import dlbridge
import extension

NEW = np.lib.NumpyVersion(np.__version__) >= "2.0.0"
MODULES: dict[str, Any] = {"pybind11": extension.visible}
if importlib.util.find_spec("nanobind_extension"):
    MODULES["nanobind"] = import_module("nanobind_extension").visible
CLASSES = [(m, name) for m in MODULES for name in ("Samples", "SharedSamples", "OwnedSamples")]
SHARES: dict[str, Any] = {
    f"{m}, {name}": getattr(MODULES[m], name) for m, name in CLASSES if name != "Samples"
}
SHARES["C"] = extension.visible.c_class()

Array = np.ndarray[Any, Any]


@pytest.fixture(params=MODULES)
def visible(request: pytest.FixtureRequest) -> Any:
    return MODULES[request.param]


def raw(module: Any, array: Array, code: int, bits: int, device: int = 1) -> Any:
    """An object on the memory of an array, which stays alive as long as the caller keeps it."""
    return module.Raw(code, bits, array.ctypes.data, list(array.shape), device)


VIEWS: dict[str, Callable[[Any], Array]] = {
    "asarray": np.asarray,
    "__array__": lambda x: x.__array__(),
    "asarray of memoryview": lambda x: np.asarray(memoryview(x)),
    "frombuffer": lambda x: np.frombuffer(x, np.float32),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("make", [getattr(MODULES[m], name) for m, name in CLASSES]
                         + [SHARES["C"]], ids=[*map(str, CLASSES), "C"])  # fmt: skip
def test_every_view_is_on_the_memory(make: Any, view: str) -> None:
    x = make(3)
    array = VIEWS[view](x)
    address = dlbridge.from_dlpack(x).data_ptr
    assert (array.dtype, array.tolist()) == (np.float32, [1.5] * 3)
    assert array.ctypes.data == address and array.flags.writeable
    del x
    gc.collect()
    array[:] = 2
    assert array.tolist() == [2] * 3


def test_functions_of_numpy(visible: Any) -> None:
    base = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = raw(visible, base, 2, 32)
    assert np.sum(x) == 15 and np.mean(x, axis=0).tolist() == [1.5, 2.5, 3.5]
    assert np.array_equal(np.concatenate([x, x]), np.concatenate([base, base]))
    assert np.array(x).ctypes.data != base.ctypes.data
    assert np.asarray(x, dtype="f8").dtype == np.float64
    assert [row.tolist() for row in x] == base.tolist()
    assert np.array_equal(base + x, base * 2)


def test_what_iter_gives(visible: Any) -> None:
    class Items(visible.Samples):  # type: ignore[misc]
        def __getitem__(self, i: int) -> int:
            return [10, 20][i]

    assert list(visible.Samples(2)) == [1.5, 1.5] and list(Items(2)) == [10, 20]
    text = "An iterator over x[0], x[1], ... or, without __getitem__, over the rows of the array."
    assert text in visible.Samples.__iter__.__doc__


def test_arguments_of_array(visible: Any) -> None:
    x = visible.WithoutBuffer(3)  # np.asarray calls __array__
    address = dlbridge.from_dlpack(x).data_ptr
    assert x.__array__(np.float32, copy=False).ctypes.data == address
    assert x.__array__("f4").ctypes.data == address
    for copy in (x.__array__(copy=True), x.__array__("f8"), x.__array__("f4", True)):
        assert copy.ctypes.data != address and copy.tolist() == [1.5] * 3
    with pytest.raises(ValueError, match="Leave copy= out if a copy is acceptable"):
        x.__array__("f8", copy=False)
    if NEW:
        assert np.asarray(x, copy=False).ctypes.data == address
        with pytest.raises(ValueError, match="Leave copy= out if a copy is acceptable"):
            np.asarray(x, dtype="f8", copy=False)
        assert np.asarray(x, dtype="f8").dtype == np.float64
    with pytest.raises(TypeError):
        memoryview(x)


DTYPES = {"bfloat16": (4, 16), "float8_e4m3fn": (10, 8), "float8_e5m2": (12, 8)}


@pytest.mark.skipif(
    importlib.util.find_spec("ml_dtypes") is None, reason="the environment has no ml_dtypes"
)
@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_of_ml_dtypes(visible: Any, name: str) -> None:
    ml_dtypes: Any = import_module("ml_dtypes")

    base = np.arange(6, dtype=getattr(ml_dtypes, name)).reshape(2, 3)
    x = raw(visible, base, *DTYPES[name])
    array = np.asarray(x)
    assert array.dtype == base.dtype and array.ctypes.data == base.ctypes.data
    assert np.array_equal(np.asarray(x, dtype="f4"), base.astype("f4"))
    assert np.sum(x, dtype="f4") == 15
    with pytest.raises(BufferError):
        memoryview(x)


def test_a_dtype_without_ml_dtypes(visible: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    base = np.zeros(2, np.uint16)
    x = raw(visible, base, 4, 16)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "ml_dtypes", None)
        with pytest.raises(
            TypeError, match=r"got bfloat16.*Install ml_dtypes, or convert it first"
        ):
            np.asarray(x)


def test_a_dtype_that_nobody_has(visible: Any) -> None:
    base = np.arange(4, dtype=np.uint8)
    x = raw(visible, base, 0, 4)
    with pytest.raises(TypeError, match="NumPy has no packed dtypes; unpack it first"):
        np.asarray(x)


@pytest.mark.parametrize("device", [2, 10, 4, 8])
def test_memory_of_a_device(visible: Any, device: int) -> None:
    x = raw(visible, np.zeros(2, np.float32), 2, 32, device)
    text = "Copy it first, with dlbridge.from_dlpack" if device in (2, 10) else "its own library"
    for use in (np.asarray, np.sum, np.array, list):
        with pytest.raises(TypeError, match=f"expected memory that the CPU can read.*{text}"):
            use(x)
    with pytest.raises(BufferError):
        memoryview(x)


def test_what_the_author_defines_is_kept(visible: Any) -> None:
    for x in (visible.WithOwnBefore(2), visible.WithOwnAfter(2)):
        assert x.__array__().tolist() == ["the author's"] * 2
        assert np.from_dlpack(x).tolist() == [1.5] * 2
        if visible is extension.visible:
            assert memoryview(x).readonly
        else:
            with pytest.raises(BufferError, match="the author's"):
                memoryview(x)


def test_a_derived_class_shows_its_own_memory(visible: Any) -> None:
    x = visible.Derived(2)
    x.grow(3)
    assert np.asarray(x).ctypes.data == dlbridge.from_dlpack(x).data_ptr

    class Subclass(visible.WithoutBuffer):  # type: ignore[misc]
        def __dlpack__(self, **keywords: Any) -> Any:
            return other.__dlpack__(**keywords)

    other = np.arange(3.0)
    assert np.asarray(Subclass(1)).tolist() == [0, 1, 2]


# Shares.


@pytest.mark.parametrize("make", SHARES.values(), ids=SHARES)
def test_a_share_outlives_the_memory_of_the_object(make: Any) -> None:
    x = make(1000)
    views = {name: view(x) for name, view in VIEWS.items()}
    views["from_dlpack"] = np.from_dlpack(x)
    views["copied"] = np.array(x)
    table = dlbridge.from_dlpack(x)
    x.clear()
    others = [np.full(1000, 13, np.float32) for _ in range(20)]
    for array in (*views.values(), np.asarray(table)):
        assert (array == 1.5).all()
    del views, array, table, others
    assert np.asarray(x).size == 0


@pytest.mark.parametrize("name", ["SharedSamples", "OwnedSamples"])
def test_a_share_after_growth_and_assignment(visible: Any, name: str) -> None:
    x = getattr(visible, name)(1000)
    before = np.asarray(x)
    x.grow(100000)
    grown = np.from_dlpack(x)
    x.assign(getattr(visible, name)(2))
    assert (before == 1.5).all() and (grown == 1.5).all()
    assert (before.size, grown.size, np.asarray(x).size) == (1000, 100000, 2)


def test_without_an_owner_the_object_is_kept(visible: Any) -> None:
    array = np.asarray(visible.ForeignSamples(1000))
    others = [np.full(1000, 13, np.float32) for _ in range(20)]
    assert (array == 1.5).all() and others


def test_copies_that_do_not_share(visible: Any) -> None:
    for use in (np.from_dlpack, np.asarray, dlbridge.from_dlpack):
        with pytest.raises(ValueError, match="copies of the array that share its mem") as raised:
            use(visible.CopiedSamples(3))
        assert "Name the owner in def_dlpack: dlbridge::shares<&owner>()" in str(raised.value)
        assert use(visible.OwnedSamples(3)) is not None  # which names its owner


# Operators.


def objects(*values: Any) -> Array:
    array = np.empty(len(values), object)
    array[:] = values
    return array


def test_operators_without_the_option(visible: Any) -> None:
    m = visible.Operands([1, 2])
    assert 2.0 * m == "the product of the class"
    assert (np.float64(2) * m).tolist() == [2, 4]
    assert (np.ones(2) + m).tolist() == [2, 3]
    assert np.sum(m) == 3


def test_operators_with_the_option(visible: Any) -> None:
    m = visible.OwnOperands([1, 2])
    assert type(m).__array_ufunc__ is None
    assert np.float64(2) * m == 2.0 * m == "the product of the class"
    assert np.ones(2) + m == "its sum"
    assert np.asarray(m).tolist() == [1, 2]
    with pytest.raises(TypeError, match="does not support ufuncs"):
        np.sum(m)
    assert np.sum(np.asarray(m)) == 3  # the remedy


@pytest.mark.parametrize("name", ["Operands", "OwnOperands"])
def test_arrays_of_objects(visible: Any, name: str) -> None:
    make = getattr(visible, name)
    m, other = make([1, 2]), make([3, 4])
    assert np.array([m, other]).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(ValueError, match="inhomogeneous"):
        np.array([m, make([3])])
    several = np.empty(2, object)
    several[0], several[1] = m, make([3])
    assert (2.0 * several).tolist() == ["the product of the class"] * 2
    assert (several == several).tolist() == [True, True]


# Consumers.

MATRIX = np.arange(12, dtype=np.float32).reshape(3, 4)


def use_pandas(matrix: Any, samples: Any) -> None:
    pd: Any = import_module("pandas")

    assert pd.Series(samples).tolist() == pd.Index(samples).tolist() == [1.5] * 3
    assert pd.DataFrame({"a": samples})["a"].dtype == np.float32
    assert np.array_equal(pd.DataFrame(matrix).to_numpy(), MATRIX)
    assert pd.Series(samples).mean() == 1.5


def use_matplotlib(matrix: Any, samples: Any) -> None:
    axes: Any = import_module("matplotlib.figure").Figure().subplots()
    assert np.array_equal(axes.imshow(matrix).get_array(), MATRIX)
    assert axes.plot(samples)[0].get_ydata().tolist() == [1.5] * 3
    assert axes.scatter(samples, samples).get_offsets().tolist() == [[1.5, 1.5]] * 3
    with pytest.raises(TypeError, match="has no len"):
        axes.hist(samples)
    assert axes.hist(np.asarray(samples))[0].sum() == 3


def use_scipy(matrix: Any, samples: Any) -> None:
    fft, linalg, ndimage = (import_module(f"scipy.{name}") for name in ("fft", "linalg", "ndimage"))
    assert np.array_equal(ndimage.gaussian_filter(matrix, 1),
                          ndimage.gaussian_filter(MATRIX, 1))  # fmt: skip
    assert linalg.norm(matrix) == linalg.norm(MATRIX)
    assert fft.fft(samples)[0] == 4.5


def use_skimage(matrix: Any, samples: Any) -> None:
    """scikit-image reads attributes of an ndarray first, and else raises AttributeError."""
    filters, transform, util = (
        import_module(f"skimage.{name}") for name in ("filters", "transform", "util")
    )
    assert np.array_equal(util.img_as_float(matrix), MATRIX)
    for function in (filters.sobel, lambda x: transform.resize(x, (6, 8))):
        with pytest.raises(AttributeError, match=r"ndim|shape|dtype"):
            function(matrix)
        assert np.array_equal(function(np.asarray(matrix)), function(MATRIX))


def use_xarray(matrix: Any, samples: Any) -> None:
    xr: Any = import_module("xarray")

    assert np.array_equal(xr.DataArray(matrix, dims=("y", "x")).values, MATRIX)
    assert xr.Dataset({"a": ("x", samples)}).a.sum() == 4.5


def use_torch(matrix: Any, samples: Any) -> None:
    """torch.asarray reads the buffer of an object as bytes, and `as_tensor` its elements."""
    torch: Any = import_module("torch")

    for make in (torch.from_dlpack, torch.as_tensor, torch.tensor):
        assert np.array_equal(make(matrix).numpy(), MATRIX)
    assert torch.from_dlpack(samples).data_ptr() == np.asarray(samples).ctypes.data
    without_buffer = extension.visible.Operands([1, 2])
    assert torch.asarray(without_buffer).tolist() == [1, 2]


def use_jax(matrix: Any, samples: Any) -> None:
    jnp: Any = import_module("jax.numpy")

    for make in (jnp.asarray, jnp.array, jnp.from_dlpack):
        assert np.array_equal(make(matrix), MATRIX)
    with pytest.raises(TypeError):
        jnp.sum(matrix)
    assert jnp.sum(jnp.asarray(matrix)) == MATRIX.sum()


def use_numpy(matrix: Any, samples: Any) -> None:
    assert np.array_equal(matrix, MATRIX) and np.max(samples) == 1.5


LIBRARIES = {name[4:]: use for name, use in dict(globals()).items() if name.startswith("use_")}


def test_consumers(visible: Any, library: Callable[[Any, Any], None]) -> None:
    library(raw(visible, MATRIX, 2, 32), visible.Samples(3))
