# SPDX-License-Identifier: BSD-3-Clause
"""or_other<P, arrays> and or_other<P, arrow> of the C++ headers, and as_tensor: objects of
libraries without DLPack. Each is accepted with its values, or refused with a remedy that is
executed."""

from __future__ import annotations

import array
import ctypes
import datetime
import gc
import mmap
import re
import sys
import weakref
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Callable

import arro3.core as arro3
import astropy.table
import astropy.units
import awkward
import blosc2
import dask.array
import duckdb
import h5py
import nanoarrow
import narwhals
import netCDF4
import numpy as np
import pandas as pd
import PIL.Image
import pint
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
import quantities
import scipy.sparse
import sparse
import tables
import tensorstore
import xarray as xr
import zarr
from test_signatures import BINDINGS, module_of

import dlbridge

VALUES = np.arange(3.0)
MATRIX = np.arange(6.0).reshape(2, 3)
MASK = np.array([True, False])
TABLE = {"a": [0.0, 1.0, 2.0], "b": [3.0, 4.0, 5.0]}
TEXTS = ["b", "a"]
DAY = datetime.datetime(1970, 1, 2)


@pytest.fixture(params=BINDINGS)
def extension(request: pytest.FixtureRequest) -> Any:
    return module_of(request.param)


@dataclass(frozen=True)
class Refused:
    """A refusal: the end of its message, what the caller then passes, and its values."""

    remedy: str
    apply: Callable[[Any], Any]
    expected: Any
    is_no_producer: bool = False


@dataclass(frozen=True)
class Row:
    """An object, and what it is with each tag, without a tag, and in as_tensor."""

    id: str
    make: Callable[[], Any]
    arrays: Any
    arrow: Any
    either: Any = None
    as_tensor: Any = None


def asarray(expected: Any) -> Refused:
    """The refusal of an object without Arrow's interface."""
    return Refused("Pass numpy.asarray() of it", np.asarray, expected, is_no_producer=True)


def flat(expected: Any) -> Refused:
    """The refusal of an object of several dimensions, as Arrow has one."""
    return Refused("Pass numpy.asarray() of it", np.asarray, expected)


def array_only(name: str, make: Callable[[], Any], expected: Any = VALUES) -> Row:
    return Row(name, make, expected, asarray(expected))


def same(name: str, make: Callable[[], Any], expected: Any = VALUES) -> Row:
    return Row(name, make, expected, expected)


def refused(name: str, make: Callable[[], Any], how: Refused) -> Row:
    return Row(name, make, how, how)


NULLS = "expected an Arrow array without nulls; got nulls: .*"
FILLED = np.array([1, 0, 2])
FILL = "Pass x.fill_null(value), with a value for nulls"
FILL_NULL = Refused(NULLS + FILL, lambda x: x.fill_null(0), FILLED)
FILLNA = Refused(
    NULLS + "Pass x.fillna(value), with a value for nulls", lambda x: x.fillna(0), FILLED
)


def null_mask(advice: str, apply: Callable[[Any], Any], expected: Any) -> Refused:
    """The refusal of a mask with nulls, of which NumPy makes an array of objects."""
    return Refused(NULLS + advice, apply, expected)


FLAT = np.array([1, 2, 3])
EXPLODE = Refused("Pass its items, x.explode()", lambda x: x.explode(), FLAT)
FLATTEN = Refused("Pass its items, x.flatten()", lambda x: x.flatten(), FLAT)
NAN = np.array([1, np.nan, 2])
BITS = Refused("got one of format 'b': .*Pass numpy.asarray() of it", np.asarray, MASK)
CODES = Refused("Pass numpy.asarray(x).astype('f8') if its values are numbers, or their codes, "
                "numpy.unique(x, return_inverse=True)[1]",
                lambda x: np.unique(x, return_inverse=True)[1], np.array([1, 0]))  # fmt: skip
DATES = Refused("Pass its integers, numpy.asarray(x).astype('M8[ns]').astype('i8')",
                lambda x: np.asarray(x).astype("M8[ns]").astype("i8"),
                np.array([86_400 * 10**9]))  # fmt: skip
DECIMALS = Refused("Pass numpy.asarray(x).astype('f8')", lambda x: np.asarray(x).astype("f8"),
                   np.array([0.5, 1.5]))  # fmt: skip
COLUMN = Refused("got one of format '+s': .*Pass a column, as x['name']", lambda x: x["a"], VALUES)
FLOATS = Refused("got one of format 'n': .*Pass numpy.asarray(x).astype('f8')",
                 lambda x: np.asarray(x).astype("f8"), np.full(2, np.nan))  # fmt: skip
DENSE = Refused("Pass x.todense()", lambda x: x.todense(), np.eye(2), is_no_producer=True)
OWN_DENSE = Refused("manually densify, use the todense method.", lambda x: x.todense(), np.eye(2))
RAGGED = Refused("subarray lengths are not regular", awkward.flatten, VALUES)
NO_ARROW = Refused("or an Arrow array", lambda x: np.asarray(
    awkward.flatten(x, None) if isinstance(x, awkward.Array) else x), VALUES)  # fmt: skip
UNIT = Refused("The unit of the quantity is stripped", lambda x: x.magnitude, VALUES)


ADVICE = "Pass a field, as pyarrow.compute.struct_field(pyarrow.chunked_array(x), 'name')"


def field(expected: Any) -> Refused:
    """The refusal of a column of structs."""
    return Refused("got one of format '+s': .*" + ADVICE,
                   lambda x: pc.struct_field(pa.chunked_array(x), "a"), expected)  # fmt: skip


# The refusals of an Arrow array that has no function for nulls.
FILL_CHUNK = "Pass pyarrow.chunked_array(x).fill_null(value), with a value for nulls"
FILLED_CHUNK = Refused(NULLS + FILL_CHUNK,
                       lambda x: pa.chunked_array(x).fill_null(0), FILLED)  # fmt: skip


def filled_mask(expected: Any) -> Refused:
    return Refused(NULLS + FILL_CHUNK,
                   lambda x: pa.chunked_array(x).fill_null(False), expected)  # fmt: skip


def structs(*null: bool) -> pa.StructArray:
    return pa.StructArray.from_arrays([pa.array([1, 2])], ["a"], mask=pa.array(null))


CHUNKS = "expected an Arrow stream of one chunk; got several chunks: .*"


def hdf5() -> Any:
    return h5py.File.in_memory().create_dataset("x", data=VALUES)


def tensor_store() -> Any:
    spec = {"driver": "zarr", "kvstore": {"driver": "memory"}}
    result = tensorstore.open(spec, create=True, dtype="float64", shape=[3]).result()
    result[...] = VALUES
    return result


NETCDF = netCDF4.Dataset("a.nc", "w", diskless=True)
NETCDF.createDimension("n", 3)
NETCDF.createVariable("x", "f8", ("n",))[:] = VALUES
TABLES = tables.open_file("b.h5", "w", driver="H5FD_CORE", driver_core_backing_store=0)
TABLES.create_array("/", "x", VALUES)


def mapped() -> mmap.mmap:
    memory = mmap.mmap(-1, 3)
    memory.write(b"\0\1\2")
    return memory


def buffer(name: str, make: Callable[[], Any], dtype: str, remedy: str = "asarray() of it") -> Row:
    values = VALUES.astype(dtype)
    no = Refused(f"Pass numpy.{remedy}", lambda x: np.frombuffer(x, dtype), values, True)
    return Row(name, make, no, no, either=values, as_tensor=values)


def image() -> Any:
    return PIL.Image.fromarray(np.arange(6, dtype="u1").reshape(2, 3))


def relation(query: str) -> Callable[[], Any]:
    return lambda: duckdb.sql(query)


def without_array(name: str, make: Callable[[], Any], how: Any, apply: Callable[[Any], Any]) -> Row:
    """An object without __array__, of which a function makes an ndarray."""
    values = how
    while isinstance(values, Refused):
        values = values.expected
    no = Refused("or an object with __array__", apply, values, is_no_producer=True)
    return Row(name, make, no, how)


def by_table(name: str, make: Callable[[], Any], how: Any) -> Row:
    """A relation of DuckDB."""
    return without_array(name, make, how, lambda x: np.ma.filled(x.fetchnumpy()["a"], 0))


def by_chunk(name: str, values: Any, dtype: Any, how: Any) -> Row:
    """An array of nanoarrow."""
    zero = type(values[0])()
    return without_array(name, lambda: nanoarrow.Array(values, dtype), how,
                         lambda x: np.array([each or zero for each in x.to_pylist()]))  # fmt: skip


ROWS = [
    same("pandas.Series", lambda: pd.Series(VALUES)),
    same("pandas.Series of Arrow", lambda: pd.Series(VALUES, dtype="float64[pyarrow]")),
    same("pandas.Series of ints", lambda: pd.Series([1, 2], dtype="Int64"), np.array([1, 2])),
    array_only("pandas.Index", lambda: pd.RangeIndex(3), np.arange(3)),
    Row("pandas.DataFrame", lambda: pd.DataFrame({"a": VALUES}), VALUES[:, None],
        flat(VALUES[:, None])),
    Row("pandas nulls", lambda: pd.Series([1, None, 2], dtype="Int64"), NAN, FILLNA),
    same("pandas NaN", lambda: pd.Series([1, None, 2]), NAN),
    same("pandas bools", lambda: pd.Series(MASK), MASK),
    Row("pandas bools of Arrow", lambda: pd.Series(MASK, dtype="boolean"), MASK, BITS),
    refused("pandas texts", lambda: pd.Series(TEXTS), CODES),
    refused("pandas categories", lambda: pd.Series(TEXTS, dtype="category"), CODES),
    refused("pandas dates", lambda: pd.Series([DAY]), DATES),
    same("polars.Series", lambda: pl.Series(VALUES)),
    Row("polars.DataFrame", lambda: pl.DataFrame(TABLE), np.array([*TABLE.values()]).T, COLUMN),
    Row("polars column", lambda: pl.DataFrame({"a": VALUES}), VALUES[:, None], VALUES),
    Row("polars nulls", lambda: pl.Series([1, None, 2]), NAN, FILL_NULL),
    Row("pandas null mask", lambda: pd.Series([True, None], dtype="boolean"),
        null_mask("Pass x.fillna(value), with a value for nulls", lambda x: x.fillna(False), MASK),
        null_mask("Pass x.fillna(value), with a value for nulls", lambda x: x.fillna(False), BITS)),
    Row("polars null mask", lambda: pl.Series([True, None]),
        null_mask(FILL, lambda x: x.fill_null(False), MASK),
        null_mask(FILL, lambda x: x.fill_null(False), BITS)),
    Row("polars bools", lambda: pl.Series(MASK), MASK, BITS),
    Row("polars chunks", lambda: pl.Series([0.0, 1.0]).append(pl.Series([2.0])), VALUES,
        Refused(CHUNKS + "Pass x.rechunk()", lambda x: x.rechunk(), VALUES)),
    Row("polars structs", lambda: pl.Series([{"a": 1, "b": 2}, {"a": 3, "b": 4}]),
        np.array([[1, 2], [3, 4]]), field(np.array([1, 3]))),
    refused("polars texts", lambda: pl.Series(TEXTS), CODES),
    refused("polars categories", lambda: pl.Series(TEXTS, dtype=pl.Categorical), CODES),
    refused("polars dates", lambda: pl.Series([DAY]), DATES),
    refused("polars lists", lambda: pl.Series([[1, 2], [3]]), EXPLODE),
    refused("polars decimals", lambda: pl.Series([Decimal("0.5"), Decimal("1.5")]), DECIMALS),
    same("pyarrow.Array", lambda: pa.array([9.0, *VALUES])[1:]),
    refused("pyarrow nulls", lambda: pa.array([1, None, 2]), FILL_NULL),
    refused("pyarrow null mask", lambda: pa.array([True, None]),
            null_mask(FILL, lambda x: x.fill_null(False), BITS)),
    refused("pyarrow nulls alone", lambda: pa.nulls(2), FLOATS),
    Row("pyarrow null structs", lambda: structs(False, True), field(np.array([1, np.nan])),
        field(Refused(FILL_NULL.remedy, lambda x: x.fill_null(0), np.array([1, 0])))),
    refused("pyarrow bools", lambda: pa.array(MASK), BITS),
    refused("pyarrow texts", lambda: pa.array(TEXTS), CODES),
    refused("pyarrow dictionary", lambda: pa.array(TEXTS).dictionary_encode(), CODES),
    refused("pyarrow dates", lambda: pa.array([DAY]), DATES),
    refused("pyarrow lists", lambda: pa.array([[1, 2], [3]]), FLATTEN),
    same("pyarrow.ChunkedArray", lambda: pa.chunked_array([[], VALUES, []], pa.float64())),
    same("pyarrow slice", lambda: pa.chunked_array([pa.array([9.0, *VALUES])[1:]])),
    same("pyarrow no chunk", lambda: pa.chunked_array([], pa.float64()), np.array([])),
    Row("pyarrow chunks", lambda: pa.chunked_array([[0.0, 1.0], [2.0]]), VALUES,
        Refused(CHUNKS + "Pass x.combine_chunks()", lambda x: x.combine_chunks(), VALUES)),
    Row("pyarrow.Table", lambda: pa.table({"a": VALUES}), VALUES[:, None], VALUES),
    Row("pyarrow columns", lambda: pa.table(TABLE), np.array([*TABLE.values()]).T, COLUMN),
    Row("pyarrow.RecordBatch", lambda: pa.record_batch({"a": [9.0, *VALUES]})[1:],
        VALUES[:, None], VALUES),
    by_table("duckdb", relation("select unnest([0.0::double, 1, 2]) a"), VALUES),
    by_table("duckdb empty", relation("select 0.0::double a where false"), np.array([])),
    by_table("duckdb columns", relation("select unnest([0.0::double, 1, 2]) a, 1 b"), COLUMN),
    by_table("duckdb nulls", relation("select unnest([1, null, 2])::bigint a"), Refused(
        "Pass pyarrow.table(x)['name'].fill_null(value), with a value for nulls",
        lambda x: pa.table(x)["a"].fill_null(0),
        FILLED)),
    by_table("duckdb null mask", relation("select unnest([true, null]) a"), Refused(
        "Pass pyarrow.table(x)['name'].fill_null(value), with a value for nulls",
        lambda x: pa.table(x)["a"].fill_null(False).to_numpy(), MASK)),
    by_table("duckdb chunks", relation("select range::double a from range(300000)"),
             Refused(CHUNKS + "Pass pyarrow.table(x)['name'].combine_chunks()",
                    lambda x: pa.table(x)["a"].combine_chunks(), np.arange(300000.0))),
    by_table("duckdb bools", relation("select unnest([true, false]) a"), Refused(
        "Pass pyarrow.table(x)['name'].to_numpy()", lambda x: pa.table(x)["a"].to_numpy(), MASK)),
    same("narwhals.Series", lambda: narwhals.from_native(pl.Series(VALUES), series_only=True)),
    Row("narwhals.DataFrame", lambda: narwhals.from_native(pl.DataFrame({"a": VALUES})),
        VALUES[:, None], VALUES),
    by_chunk("nanoarrow", VALUES, nanoarrow.float64(), VALUES),
    by_chunk("nanoarrow nulls", [1, None, 2], nanoarrow.int64(), FILLED_CHUNK),
    replace(by_chunk("nanoarrow null mask", [True, None], nanoarrow.bool_(), filled_mask(BITS)),
            either=filled_mask(MASK)),
    by_chunk("nanoarrow bools", MASK.tolist(), nanoarrow.bool_(), Refused(
        "Pass pyarrow.chunked_array(x).to_numpy()", lambda x: pa.chunked_array(x).to_numpy(),
        MASK)),
    without_array("nanoarrow slice",  # it states the null count of the whole array
                  lambda: nanoarrow.c_array([None, *VALUES], nanoarrow.float64())[1:], VALUES,
                  lambda x: np.array(nanoarrow.Array(x).to_pylist())),
    same("arro3.Array", lambda: arro3.Array(VALUES, arro3.DataType.float64())),
    refused("arro3 nulls", lambda: arro3.Array([1, None, 2], arro3.DataType.int64()),
            FILLED_CHUNK),
    Row("arro3 chunks", lambda: arro3.ChunkedArray([pa.array([0.0, 1.0]), pa.array([2.0])]),
        VALUES, Refused(CHUNKS + "Pass x.combine_chunks()", lambda x: x.combine_chunks(), VALUES)),
    same("xarray.DataArray", lambda: xr.DataArray(VALUES)),
    Row("xarray matrix", lambda: xr.DataArray(MATRIX), MATRIX, flat(MATRIX)),
    array_only("h5py", hdf5),
    array_only("zarr", lambda: zarr.array(VALUES)),
    array_only("dask", lambda: dask.array.from_array(VALUES)),
    array_only("netCDF4", lambda: NETCDF["x"]),
    Row("tensorstore", tensor_store, VALUES, NO_ARROW, as_tensor=asarray(VALUES)),
    Row("awkward", lambda: awkward.Array(VALUES), VALUES, NO_ARROW, as_tensor=asarray(VALUES)),
    Row("awkward ragged", lambda: awkward.Array([[0.0, 1.0], [2.0]]), RAGGED, NO_ARROW),
    Row("blosc2", lambda: blosc2.asarray(VALUES), VALUES, asarray(VALUES), as_tensor=VALUES),
    Row("sparse", lambda: sparse.COO(np.eye(2)), OWN_DENSE, DENSE, either=OWN_DENSE),
    refused("scipy.sparse", lambda: scipy.sparse.csr_array(np.eye(2)), DENSE),
    refused("tables", lambda: TABLES.root.x, asarray(VALUES)),
    Row("Pillow", image, np.arange(6, dtype="u1").reshape(2, 3),
        flat(np.arange(6, dtype="u1").reshape(2, 3)),
        as_tensor=np.arange(6, dtype="u1").reshape(2, 3)),
    same("astropy.Quantity", lambda: astropy.units.Quantity(VALUES, "m")),
    same("astropy.Column", lambda: astropy.table.Column(VALUES)),
    Row("pint", lambda: pint.Quantity(VALUES, "m"), UNIT, VALUES),
    same("quantities", lambda: quantities.Quantity(VALUES, "m")),
    buffer("bytes", lambda: b"\0\1\2", "u1", "frombuffer() of it, with its dtype"),
    buffer("memoryview", lambda: memoryview(b"\0\1\2"), "u1"),
    buffer("array.array", lambda: array.array("d", VALUES), "f8"),
    buffer("mmap", mapped, "u1"),
    buffer("ctypes", lambda: (ctypes.c_int16 * 3)(0, 1, 2), "i2"),
]  # fmt: skip


def check(function: Callable[[Any], Any], x: Any, outcome: Any) -> None:
    """Calls a function that returns its argument, and compares it with the outcome of a row."""
    if isinstance(outcome, Refused):
        *before, advice = outcome.remedy.split(".*")
        with pytest.raises(Exception, match=".*".join(map(re.escape, [*before, advice]))) as raised:
            function(x)
        assert str(raised.value).endswith(advice) or not advice.startswith("Pass")
        return check(function, outcome.apply(x), outcome.expected)
    result = function(x)
    values = np.from_dlpack(result)
    assert values.dtype == outcome.dtype and values.shape == outcome.shape
    np.testing.assert_array_equal(values, outcome)
    return None


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_an_object_of_a_library(row: Row, extension: Any) -> None:
    is_array = not getattr(row.arrays, "is_no_producer", False)
    either = row.either if row.either is not None else row.arrays if is_array else row.arrow
    check(extension.kept_array, row.make(), row.arrays)
    check(extension.kept_arrow, row.make(), row.arrow)
    check(extension.kept_other, row.make(), either)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_as_tensor(row: Row) -> None:
    check(dlbridge.as_tensor, row.make(), row.arrow if row.as_tensor is None else row.as_tensor)


def is_read_only(x: Any) -> bool:
    return not np.from_dlpack(x).flags.writeable


def address(x: Any) -> int:
    return int(np.from_dlpack(x).__array_interface__["data"][0])


@pytest.mark.parametrize(
    ("make", "memory"),
    [
        (lambda: pl.Series(VALUES), lambda x: x.to_numpy(allow_copy=False)),
        (lambda: pa.chunked_array([VALUES]), lambda x: x.chunk(0).to_numpy()),
        (lambda: pa.record_batch({"a": VALUES}), lambda x: x["a"].to_numpy()),
    ],
    ids=["polars", "pyarrow.ChunkedArray", "pyarrow.RecordBatch"],
)
def test_the_memory_of_arrow_is_not_copied(make: Any, memory: Any, extension: Any) -> None:
    x = make()
    for t in (extension.kept_arrow(x), dlbridge.as_tensor(x)):
        assert address(t) == address(memory(x)) and is_read_only(t)


@pytest.mark.parametrize("values", [VALUES, NAN])
def test_a_column_of_numpy_is_not_copied(values: Any, extension: Any) -> None:
    """pandas exports NaN to Arrow as null."""
    x = pd.Series(values)
    for t in (extension.kept_arrow(x), extension.kept_other(x), dlbridge.as_tensor(x)):
        assert address(t) == address(x.to_numpy()) and is_read_only(t)


@pytest.mark.parametrize("text", ["1.5", 1.5])
def test_texts_of_numbers(text: Any, extension: Any) -> None:
    """The first remedy of CODES."""
    for x in (pd.Series([text], dtype="category"), pl.Series([str(text)])):
        for function in (extension.kept_arrow, dlbridge.as_tensor):
            with pytest.raises((TypeError, BufferError), match=re.escape(CODES.remedy)):
                function(x)
            check(function, np.asarray(x).astype("f8"), np.array([1.5]))


@pytest.mark.parametrize("make", [pd.Series, pl.Series, xr.DataArray])
def test_an_ndarray_that_array_returns_is_not_copied(make: Any, extension: Any) -> None:
    x = make(VALUES)
    t = extension.kept_array(x)
    assert address(t) == address(np.asarray(x)) and is_read_only(t)


def test_results_compute(extension: Any) -> None:
    """A column belongs to no array library: a result is an array of NumPy."""
    for x in (pd.Series(VALUES), pl.Series(VALUES), xr.DataArray(VALUES), pa.array(VALUES),
              pa.chunked_array([VALUES]), duckdb.sql("select unnest([0.0::double, 1, 2]) a"),
              array.array("d", VALUES)):  # fmt: skip
        result = 2 * extension.kept_other(x)
        assert type(result) is np.ndarray and result.tolist() == [0, 2, 4]


# Arrow's C interfaces: the members of a struct before `release`.
MEMBERS = {"schema": 7, "array": 8, "array_stream": 3}
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
GET = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
pointer_in.restype, pointer_in.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)


class Counted:
    """Passes the Arrow array, or the stream, of an object of a library on, and counts the calls of
    the release callback of each struct."""

    def __init__(self, x: Any) -> None:
        self.x = x
        self.released: list[list[str]] = []  # one list for each struct
        self.callbacks: list[Any] = []

    def replace(self, address: int, member: int, wrap: Callable[[Any], Any], kind: Any) -> None:
        field = ctypes.c_void_p.from_address(address + 8 * member)
        callback = kind(wrap(kind(field.value)))
        self.callbacks.append(callback)
        field.value = ctypes.cast(callback, ctypes.c_void_p).value

    def count(self, address: int, name: str) -> None:
        calls: list[str] = []
        self.released.append(calls)

        def wrap(release: Any) -> Callable[[int], None]:
            def counting(pointer: int) -> None:
                calls.append(name)
                release(pointer)

            return counting

        self.replace(address, MEMBERS[name], wrap, RELEASE)

    def count_result(self, address: int, member: int, name: str) -> None:
        def wrap(get: Any) -> Callable[[int, int], int]:
            def getting(stream: int, out: int) -> int:
                code = int(get(stream, out))
                if code == 0 and ctypes.c_void_p.from_address(out + 8 * MEMBERS[name]).value:
                    self.count(out, name)
                return code

            return getting

        self.replace(address, member, wrap, GET)


class CountedArray(Counted):
    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        capsules = self.x.__arrow_c_array__(requested_schema)
        for name, capsule in zip(("schema", "array"), capsules):
            self.count(pointer_in(capsule, f"arrow_{name}".encode()), name)
        return capsules


class CountedStream(Counted):
    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        capsule = self.x.__arrow_c_stream__(requested_schema)
        stream = pointer_in(capsule, b"arrow_array_stream")
        self.count(stream, "array_stream")
        self.count_result(stream, 0, "schema")
        self.count_result(stream, 1, "array")
        return capsule


@pytest.mark.parametrize(
    ("make", "structs"),
    [
        (lambda: CountedArray(pa.array(VALUES)), ["schema", "array"]),
        (lambda: CountedArray(pa.array([1, None])), ["schema", "array"]),
        (lambda: CountedArray(pa.record_batch(TABLE)), ["schema", "array"]),
        (lambda: CountedStream(pl.Series(VALUES)), ["array_stream", "schema", "array"]),
        (lambda: CountedStream(pl.Series(TEXTS)), ["array_stream", "schema", "array"]),
        (lambda: CountedStream(pa.chunked_array([[1], [2]])),
         ["array_stream", "schema", "array", "array"]),
        (lambda: CountedStream(pa.chunked_array([[1], [], [2], [3]])),
         ["array_stream", "schema", "array", "array", "array"]),
    ],
    ids=["array", "nulls", "columns", "stream", "texts", "chunks", "more chunks"],
)  # fmt: skip
def test_each_struct_of_arrow_is_released_once(
    make: Any, structs: list[str], extension: Any
) -> None:
    for function in (extension.kept_arrow, extension.kept_other, dlbridge.as_tensor):
        x = make()
        try:
            t = function(x)
        except (TypeError, BufferError):
            t = None
        if t is not None:
            assert not x.released[structs.index("array")]
            assert np.from_dlpack(t).tolist() == VALUES.tolist()
            del t
        gc.collect()
        assert sorted(x.released) == sorted([each] for each in structs)


class Uncounted:
    """Passes the Arrow array of an object of a library on, with null counts that are not known."""

    def __init__(self, x: Any) -> None:
        self.x = x

    def __arrow_c_array__(self, requested_schema: object = None) -> Any:
        capsules = self.x.__arrow_c_array__(requested_schema)
        array = pointer_in(capsules[1], b"arrow_array")
        _, _, _, _, count, _, children = (ctypes.c_int64 * 7).from_address(array)
        for each in (array, *(ctypes.c_int64 * count).from_address(children or array)):
            ctypes.c_int64.from_address(each + 8).value = -1
        return capsules


BEFORE = [*[None] * 8, 7.0]  # more than a byte of the bitmap


@pytest.mark.parametrize(
    ("x", "nulls"),
    [
        (pa.array(VALUES), 0),  # without a bitmap
        (pa.array([*BEFORE, *VALUES, None]).slice(9, 3), 0),
        (pa.array([*BEFORE, *VALUES, None]).slice(10, 3), 1),
        (pa.array([*[None] * 9, *VALUES]).slice(8, 4), 1),
        (pa.array([*VALUES, *BEFORE, *VALUES]).slice(0, 12), 8),
        (pa.record_batch({"a": [*BEFORE, *VALUES, None]}).slice(9, 3), 0),
        (pa.record_batch({"a": [*BEFORE, *VALUES, None]}).slice(10, 3), 1),
    ],
    ids=[
        "no bitmap",
        "outside",
        "last",
        "first",
        "in the middle",
        "outside of a column",
        "in a column",
    ],
)
def test_nulls_that_the_producer_did_not_count(x: Any, nulls: int, extension: Any) -> None:
    is_table = isinstance(x, pa.RecordBatch)
    read = pa.record_batch(Uncounted(x))["a"] if is_table else pa.array(Uncounted(x))
    assert read.null_count == nulls
    for function in (extension.kept_arrow, dlbridge.as_tensor):
        if nulls == 0:
            assert np.from_dlpack(function(Uncounted(x))).tolist() == VALUES.tolist()
            continue
        with pytest.raises((TypeError, BufferError), match="expected an Arrow array without nulls"):
            function(Uncounted(x))


def test_arrays_whose_buffers_are_no_numbers(extension: Any) -> None:
    """Rows, one of which is null, and nulls without a type, for which arro3 exports no buffer."""
    for x, found in ((Uncounted(structs(False, True)), "+s"), (arro3.Array(pa.nulls(2)), "n")):
        for function in (extension.kept_arrow, dlbridge.as_tensor):
            with pytest.raises((TypeError, BufferError), match=re.escape(f"format '{found}'")):
                function(x)


def test_the_tensor_keeps_the_memory_of_the_exporter(extension: Any) -> None:
    for function in (extension.kept_arrow, dlbridge.as_tensor):
        memory = bytearray(VALUES.tobytes())
        before = sys.getrefcount(memory)
        x = pa.chunked_array([pa.Array.from_buffers(pa.float64(), 3, [None, pa.py_buffer(memory)])])
        t = function(x)
        del x
        gc.collect()
        with pytest.raises(BufferError):
            memory.append(0)
        assert np.from_dlpack(t).tolist() == VALUES.tolist()
        del t
        memory.append(0)
        assert sys.getrefcount(memory) == before


def test_the_tensor_keeps_the_ndarray_of_the_object(extension: Any) -> None:
    class Values(np.ndarray):
        pass

    class Made:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            made = VALUES.copy().view(Values)
            alive.append(weakref.ref(made))
            return made

    alive: list[Any] = []
    x = Made()
    before = sys.getrefcount(x)
    t = extension.kept_array(x)
    gc.collect()
    assert alive[0]() is not None and np.from_dlpack(t).tolist() == VALUES.tolist()
    del t
    gc.collect()
    assert alive[0]() is None and sys.getrefcount(x) == before
    assert extension.sum_ndarray(x) == 3 and alive[1]() is None


def test_a_column_in_place_of_an_array(extension: Any) -> None:
    for x in (pd.Series([1, 2]), pl.Series([1.0, 2.0]), pa.array([1, 2]), [1, 2], (1.0, 2.0),
              array.array("i", [1, 2]), np.array([1, 2], "u1")):  # fmt: skip
        assert extension.mean(x) == 1.5
    assert extension.sum_arrow(pl.Series(VALUES)) == extension.sum_ndarray(pl.Series(VALUES)) == 3
    assert extension.sum_arrow_or_zero(None) == 0
    assert extension.sum_arrow_or_zero(pl.Series(VALUES)) == 3
    assert extension.sum_arrows([pl.Series(VALUES), np.ones(2), pa.chunked_array([VALUES])]) == 8
    with pytest.raises(TypeError, match=r"argument 'xs', element 1: .*without nulls"):
        extension.sum_arrows([VALUES, pl.Series([1.0, None])])
    with pytest.raises(TypeError, match=r"expected float64.* on cpu; got int64"):
        extension.sum_arrow(pl.Series([1, 2]))


def test_masks(extension: Any) -> None:
    for x in ([True, False, True], (True, True), np.array([True, False, True]),
              pd.Series([True, True]), pl.Series([True, False, True])):  # fmt: skip
        assert extension.count_mask(x) == 2
        assert extension.mean([bool(each) for each in x]) == 2 / len(x)
    with pytest.raises(TypeError, match=r"\[1\]: expected a bool; got int"):
        extension.count_mask([True, 1])
    with pytest.raises(TypeError, match=r"Pass numpy\.asarray\(\) of it"):
        extension.count_mask(pa.array([True]))


def test_signatures_name_the_kinds(extension: Any) -> None:
    array, arrow = "SupportsArray", "SupportsArrowArray | SupportsArrowStream"
    assert f"SupportsDLPack | {array}, " in extension.sum_ndarray.__doc__
    assert f"SupportsDLPack | {arrow}, " in extension.sum_arrow.__doc__
    assert f"Buffer | {array} | {arrow}, " in extension.mean.__doc__


def test_a_stream_that_fails(extension: Any) -> None:
    def batches() -> Any:
        yield pa.record_batch({"a": VALUES})
        raise ValueError("the source is gone")

    for function in (extension.kept_arrow, dlbridge.as_tensor):
        x = pa.RecordBatchReader.from_batches(pa.schema([("a", pa.float64())]), batches())
        with pytest.raises((TypeError, BufferError), match="the source is gone"):
            function(x)


@pytest.mark.parametrize("what", ["used", "one", "numbers", "none"])
def test_a_producer_that_breaks_the_interface(what: str, extension: Any) -> None:
    capsules = pa.array(VALUES).__arrow_c_array__()

    class Broken:
        def __arrow_c_array__(self, requested_schema: Any = None) -> Any:
            return {"used": capsules, "one": capsules[0], "numbers": (1, 2), "none": None}[what]

    if what == "used":
        assert dlbridge.as_tensor(Broken()).shape == (3,)
    for function in (extension.kept_arrow, dlbridge.as_tensor):
        with pytest.raises((TypeError, BufferError), match=r"to be capsules that nobody has used"):
            function(Broken())


class WithoutPyarrow(pd.Series):  # type: ignore[misc]
    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        raise ImportError


@pytest.mark.parametrize(
    "x, got, taken",
    [
        (WithoutPyarrow(TEXTS), "'|O'", "numpy.unique(x, return_inverse=True)[1]"),
        (WithoutPyarrow(pd.Series(TEXTS, dtype="category")), "'|O'",
         "numpy.unique(x, return_inverse=True)[1]"),
        (WithoutPyarrow([DAY], dtype="M8[ns]"), "'<M8[ns]'", "x.astype('i8')"),
        (pd.DataFrame({"a": TEXTS}), "'|O'", "numpy.unique(x, return_inverse=True)[1]"),
    ],
    ids=["texts", "categories", "dates", "frame"],
)  # fmt: skip
def test_arrow_explains_only_what_it_exports(x: Any, got: str, taken: str, extension: Any) -> None:
    with pytest.raises(TypeError) as raised:
        extension.kept_array(x)
    message = str(raised.value)
    assert f"expected a dtype of numbers in native byte order; got {got}" in message
    assert message.endswith(taken) and "Arrow" not in message
    remedy = eval(taken, {"numpy": np, "x": x})
    check(extension.kept_array, remedy, np.asarray(remedy))


def test_pandas_without_pyarrow(extension: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    x = pd.Series(VALUES)
    nullable = pd.Series(VALUES, dtype="Float64")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for function in (extension.kept_arrow, dlbridge.as_tensor):
        check(function, x, VALUES)
        check(function, nullable, Refused("Pass numpy.asarray() of it", np.asarray, VALUES))
    check(extension.kept_other, x, VALUES)
