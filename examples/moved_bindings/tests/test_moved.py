# SPDX-License-Identifier: BSD-3-Clause
"""Calls both modules of each pair. Their outcomes are equal, or a row of README.md states both."""

from __future__ import annotations

import gc
import importlib
from array import array

import ml_dtypes
import numpy as np
import outcomes
import pandas as pd
import pytest
import torch

X, Y = np.meshgrid(np.arange(3.0), np.arange(2.0))
Z = X + Y
FLAGS = [[True, False, True]] * 2


def ones(*shape, dtype="float32"):
    return np.ones(shape, dtype)


def frozen(a):
    a.flags.writeable = False
    return a


def generator(m, x=X, y=Y, z=Z, mask=np.ma.nomask, fill="CODES"):
    return m.Generator(x, y, z, mask, fill=getattr(m.Fill, fill))


def filled(m, *coordinates, **more):
    return generator(m, *coordinates, **more).filled(0, 1)


POINTS = "numpy float64 [[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]]"
CODES = "numpy uint8 [1, 2, 2, 79]"
FOUND = f"([{POINTS}], [{CODES}])"
CONTOUR = {
    "codes": (filled, FOUND),
    "codes of chunks": (
        lambda m: filled(m, fill="CHUNK_CODES"),
        f"([{POINTS}, None], [{CODES}, None])",
    ),
    "offsets of chunks": (
        lambda m: filled(m, fill="CHUNK_OFFSETS"),
        f"([{POINTS}, None], [{CODES}, None], [numpy uint32 [0, 4], None])",
    ),
    "classes of results": (
        lambda m: [type(each).__name__ for each in filled(m)],
        "['list', 'list']",
    ),
    "a result is writable": (lambda m: filled(m)[0][0].flags.writeable, "True"),
    "a mask": (lambda m: generator(m, mask=np.array(FLAGS)).masked, "4"),
    "a mask of int64": (lambda m: generator(m, mask=ones(2, 3, dtype="int64")).masked, "6"),
    "a mask in a list": (lambda m: generator(m, mask=FLAGS).masked, "4"),
    "a mask of 0 and 1 in a list": (lambda m: generator(m, mask=[[1, 0, 1]] * 2).masked, "4"),
    "a mask of pandas": (lambda m: generator(m, mask=pd.DataFrame(FLAGS)).masked, "4"),
    "a mask in Fortran's order": (
        lambda m: generator(m, mask=np.asfortranarray(FLAGS)).masked,
        "4",
    ),
    "numpy.ma.nomask": (lambda m: generator(m, mask=np.ma.nomask).masked, "0"),
    "the mask False": (lambda m: generator(m, mask=False).masked, "0"),
    "the mask None": (lambda m: generator(m, mask=None).masked, "0"),
    "a mask of rank 0": (lambda m: generator(m, mask=np.array(False)).masked, "0"),
    "a mask of another shape": (
        lambda m: generator(m, mask=ones(2, 2, dtype=bool)),
        "ValueError: a mask must be a matrix of the shape of z",
    ),
    "a mask of 2": (lambda m: generator(m, mask=np.full((2, 3), 2)).masked, None),
    "a mask of NaN": (lambda m: generator(m, mask=np.full((2, 3), np.nan)).masked, None),
    "lists": (lambda m: filled(m, X.tolist(), Y.tolist(), Z.tolist()), FOUND),
    "integers": (lambda m: filled(m, z=Z.astype(int)), FOUND),
    "Fortran's order": (lambda m: filled(m, np.asfortranarray(X)), FOUND),
    "data frames": (lambda m: filled(m, *map(pd.DataFrame, (X, Y, Z))), FOUND),
    "masked arrays": (lambda m: filled(m, z=np.ma.masked_greater(Z, 1)), None),
    "tensors of PyTorch": (lambda m: filled(m, *map(torch.from_numpy, (X, Y, Z))), FOUND),
    "another byte order": (lambda m: filled(m, z=Z.astype(">f8")), None),
    "a vector x": (lambda m: generator(m, X[0]), None),
    "x of another shape": (lambda m: generator(m, X[:1]), None),
    "the levels 1 and 0": (
        lambda m: generator(m).filled(1, 0),
        "ValueError: upper must be larger than lower",
    ),
}


class Twice:
    """A transform as those of matplotlib, which computes with the array that it gets."""

    is_affine = False

    def inverted(self):
        return self

    def transform(self, points):
        return points * 2


class ToLists(Twice):
    def transform(self, points):
        return points.tolist()


class Short(Twice):
    def transform(self, points):
        return points[1:]


class Flat(Twice):
    def transform(self, points):
        return points.ravel()


def resampled(m, x=None, out=None, transform=None, **more):
    out = np.zeros((2, 2), "float32") if out is None else out
    m.resample(ones(3, 3) if x is None else x, out, transform, **more)
    return np.asarray(out)


IMAGE = np.arange(12, dtype="uint8").reshape(2, 2, 3)
UNIT = "numpy float32 [[1.0, 1.0], [1.0, 1.0]]"
BLACK = "numpy uint8 [[[0, 0, 0], [0, 0, 0]], [[0, 0, 0], [0, 0, 0]]]"
IMAGE_CALLS = {
    "no transform": (resampled, UNIT),
    "a transform": (
        lambda m: resampled(m, transform=Twice()),
        "numpy float32 [[2.0, 2.0], [2.0, 2.0]]",
    ),
    "a transform to lists": (
        lambda m: resampled(m, transform=ToLists()),
        "numpy float32 [[1.5, 1.5], [1.5, 1.5]]",
    ),
    "a mesh of too few points": (
        lambda m: resampled(m, transform=Short()),
        "RuntimeError: the mesh has a wrong shape",
    ),
    "a mesh of one dimension": (lambda m: resampled(m, transform=Flat()), None),
    "a strided input": (
        lambda m: resampled(m, np.arange(18, dtype="float32").reshape(3, 6)[:, ::2]),
        "numpy float32 [[0.0, 2.0], [4.0, 6.0]]",
    ),
    "a read-only input": (lambda m: resampled(m, frozen(ones(3, 3))), UNIT),
    "four channels": (
        lambda m: resampled(m, ones(3, 3, 4, dtype="uint16"), np.zeros((1, 1, 4), "uint16")),
        "numpy uint16 [[[1, 1, 1, 1]]]",
    ),
    "three channels": (
        lambda m: resampled(m, ones(3, 3, 3), ones(2, 2, 3)),
        "ValueError: an image of 3 dimensions has 4 channels",
    ),
    "images of two ranks": (
        lambda m: resampled(m, ones(3, 3, 4)),
        "ValueError: the images have different numbers of dimensions",
    ),
    "images of two dtypes": (
        lambda m: resampled(m, np.ones((3, 3))),
        "ValueError: the images have different dtypes",
    ),
    "an interpolation": (
        lambda m: resampled(m, interpolation=m.Interpolation.BILINEAR),
        UNIT,
    ),
    "int64": (
        lambda m: resampled(m, ones(3, 3, dtype="int64"), np.zeros((2, 2), "int64")),
        None,
    ),
    "a read-only output": (lambda m: resampled(m, out=frozen(ones(2, 2))), None),
    "a strided output": (lambda m: resampled(m, out=ones(2, 4)[:, ::2]), None),
    "images of another byte order": (
        lambda m: resampled(m, ones(3, 3, dtype=">f4"), ones(2, 2, dtype=">f4")),
        None,
    ),
    "an input of another byte order": (lambda m: resampled(m, ones(3, 3, dtype=">f4")), None),
    "a list as output": (lambda m: resampled(m, out=[[0.0]]), None),
    "a data frame": (
        lambda m: resampled(m, pd.DataFrame(ones(3, 3)), np.zeros((1, 1), "float32")),
        None,
    ),
    "tensors of PyTorch, resampled": (
        lambda m: resampled(m, torch.ones(3, 3), torch.zeros(1, 1)),
        None,
    ),
    "rms": (
        lambda m: m.rms(IMAGE[:1], IMAGE[:1] * 3),
        "(14.832396974191326, numpy uint8 [[[0, 2, 4], [6, 8, 10]]])",
    ),
    "rms of floats": (lambda m: m.rms(IMAGE.astype(float), IMAGE), f"(0.0, {BLACK})"),
    "rms of int64": (lambda m: m.rms(IMAGE.astype("int64"), IMAGE), f"(0.0, {BLACK})"),
    "rms of lists": (lambda m: m.rms(IMAGE.tolist(), IMAGE.tolist()), f"(0.0, {BLACK})"),
    "rms of 300": (lambda m: m.rms(np.full((1, 1, 3), 300), IMAGE[:1, :1])[1], None),
    "rms of two sizes": (lambda m: m.rms(IMAGE[:1], IMAGE), None),
    "rms of tensors of PyTorch": (lambda m: m.rms(*[torch.from_numpy(IMAGE[:1, :1])] * 2), None),
}


def view(m, x):
    return m.StorageView.from_array(x)


def written(m):
    a = ones(2)
    np.asarray(view(m, a))[:] = 5
    return a


def kept(m):
    a = np.asarray(view(m, np.full(3, 7, "float32")))
    gc.collect()
    return a


class Interface:
    def __init__(self, a):
        self.a = a

    @property
    def __array_interface__(self):
        return self.a.__array_interface__


STORAGE = {
    "numpy.array": (lambda m: np.array(view(m, ones(2))), "numpy float32 [1.0, 1.0]"),
    "arithmetic": (lambda m: np.asarray(view(m, ones(2))) * 2, "numpy float32 [2.0, 2.0]"),
    "a view is written": (written, "numpy float32 [5.0, 5.0]"),
    "a view keeps the memory": (kept, "numpy float32 [7.0, 7.0, 7.0]"),
    "a StorageView": (lambda m: view(m, view(m, ones(2))).shape, "[2]"),
    "float16": (
        lambda m: np.asarray(view(m, ones(2)).to(m.DataType.float16)),
        "numpy float16 [0.0, 0.0]",
    ),
    "compact rows": (lambda m: view(m, ones(4, 4)[:1]).shape, "[1, 4]"),
    "rank 0": (lambda m: view(m, np.array(1, "float32")).shape, "[]"),
    "an empty array": (lambda m: view(m, ones(0, 3)).shape, "[0, 3]"),
    "numpy.from_dlpack": (lambda m: np.from_dlpack(view(m, ones(2))), None),
    "torch.as_tensor": (lambda m: torch.as_tensor(view(m, ones(2))), None),
    "torch.from_dlpack": (lambda m: torch.from_dlpack(view(m, ones(2))), None),
    "memoryview": (lambda m: memoryview(view(m, ones(2))).tolist(), None),
    "bfloat16 to NumPy": (
        lambda m: np.asarray(view(m, ones(2)).to(m.DataType.bfloat16)),
        None,
    ),
    "bfloat16 to PyTorch": (
        lambda m: torch.from_dlpack(view(m, ones(2)).to(m.DataType.bfloat16)),
        None,
    ),
    "bfloat16 of PyTorch": (lambda m: view(m, torch.ones(3, dtype=torch.bfloat16)).dtype, None),
    "bfloat16 of NumPy": (lambda m: view(m, np.ones(3, ml_dtypes.bfloat16)).dtype, None),
    "a tensor of PyTorch": (lambda m: view(m, torch.ones(3)).dtype, None),
    "a tensor with a gradient": (lambda m: view(m, torch.ones(3, requires_grad=True)), None),
    "array.array": (lambda m: view(m, array("f", [1.0])).shape, None),
    "a strided array": (lambda m: view(m, ones(4, 4)[:, ::2]), None),
    "a read-only array": (lambda m: view(m, frozen(ones(2))), None),
    "a repeated number": (lambda m: view(m, np.broadcast_to(np.float32(1), (2,))), None),
    "int64": (lambda m: view(m, ones(3, dtype="int64")), None),
    "a list": (lambda m: view(m, [1.0]), None),
    "another byte order": (lambda m: view(m, ones(2, dtype=">f4")), None),
    "bytes": (lambda m: view(m, b"ab"), None),
    "a bytearray": (lambda m: view(m, bytearray(4)), None),
    "__array_interface__ alone": (lambda m: view(m, Interface(ones(3))).shape, None),
}


def tree(m, only=None, count=2):
    return m.Tree_float64(count, 0.5, only)


def shape(m, only=None):
    return tree(m, only).coordinates.shape


def distance(m, p):
    return m.distance_float64(p, np.zeros(3))


def view_of_a_dead_tree(m):
    t = tree(m)
    coordinates = t.coordinates
    del t
    gc.collect()
    return coordinates.sum()


def written_tree(m):
    t = tree(m)
    t.coordinates[:] = 3
    return t.box(1)


RECORDS = np.zeros(3, dtype=[("a", "f8"), ("b", "u1")])
SUM = "numpy float64 [1.0, 1.0, 1.0]"
GEOMETRY = {
    "coordinates": (
        lambda m: tree(m, count=1).coordinates,
        "numpy float64 [[0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]",
    ),
    "coordinates of a dead tree": (view_of_a_dead_tree, "numpy float64 6.0"),
    "coordinates are written": (written_tree, "numpy float64 [[3.0, 3.0, 3.0], [3.0, 3.0, 3.0]]"),
    "entities": (lambda m: shape(m, np.array([1, 2, 3], "int32")), "(6, 3)"),
    "entities of int64": (lambda m: shape(m, np.array([1, 2, 3])), "(6, 3)"),
    "strided entities": (lambda m: shape(m, np.arange(6, dtype="int32")[::2]), "(6, 3)"),
    "no entities": (shape, "(4, 3)"),
    "entities in a list": (lambda m: shape(m, [1, 2, 3]), None),
    "an entity above int32": (lambda m: shape(m, np.array([1, 2**40])), None),
    "an entity of 1.5": (lambda m: shape(m, np.array([1.5])), None),
    "a point": (lambda m: m.collide(tree(m), np.ones(3)), "numpy int32 [1, 1]"),
    "points": (lambda m: m.collide(tree(m), np.ones((2, 3))), "numpy int32 [0, 0]"),
    "strided points": (
        lambda m: m.collide(tree(m), np.ones((2, 6))[:, ::2]),
        "numpy int32 [0, 0]",
    ),
    "a point of float32": (lambda m: m.collide(tree(m), ones(3)), "numpy int32 [1, 1]"),
    "a point of int64": (
        lambda m: m.collide(tree(m), ones(3, dtype="int64")),
        "numpy int32 [1, 1]",
    ),
    "a point of two numbers": (lambda m: m.collide(tree(m), np.ones((5, 2))), None),
    "a point in a list": (lambda m: m.collide(tree(m), [1.0, 0.0, 0.0]), None),
    "a distance": (
        lambda m: distance(m, np.ones((4, 3))),
        "numpy float64 [4.0, 4.0, 4.0]",
    ),
    "a distance of two numbers": (
        lambda m: distance(m, np.ones(2)),
        "RuntimeError: p must have the shape (3,) or (n, 3)",
    ),
    "distances": (
        lambda m: m.distances_float64([np.ones(3), np.ones((2, 3))], np.ones(3)),
        "numpy float64 [[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]",
    ),
    "distances of strided bodies": (
        lambda m: m.distances_float64([np.ones((3, 6))[:, ::2]], np.ones(3)),
        "numpy float64 [[2.0, 2.0, 2.0]]",
    ),
    "distances of no bodies": (lambda m: m.distances_float64([], np.ones(3)).shape, "(0, 3)"),
    "a distance of PyTorch": (lambda m: distance(m, torch.ones(3, dtype=torch.float64)), SUM),
    "a distance of bfloat16 of PyTorch": (
        lambda m: distance(m, torch.ones(3, dtype=torch.bfloat16)),
        SUM,
    ),
    "a distance of read-only points": (lambda m: distance(m, frozen(np.ones(3))), SUM),
    "a distance of bfloat16 of NumPy": (
        lambda m: distance(m, np.ones(3, ml_dtypes.bfloat16)),
        None,
    ),
    "a distance of a Series": (lambda m: distance(m, pd.Series([1.0, 1.0, 1.0])), None),
    "a distance of another byte order": (lambda m: distance(m, np.ones(3, ">f8")), None),
    "a distance of a field of records": (lambda m: distance(m, RECORDS["a"]), None),
    "a distance of longdouble": (lambda m: distance(m, np.ones(3, np.longdouble)), None),
}

WHEN = ("before", "after")
CALLS = {"contour": CONTOUR, "image": IMAGE_CALLS, "storage": STORAGE, "geometry": GEOMETRY}
DIFFERENCES = outcomes.differences()


def pair(module):
    return [importlib.import_module(f"moved_bindings.{module}_{when}") for when in WHEN]


@pytest.mark.parametrize(("module", "case"), [(m, case) for m in CALLS for case in CALLS[m]])
def test_outcome(module, case):
    call, expected = CALLS[module][case]
    stated = DIFFERENCES[module, case] if expected is None else (expected, expected)
    for each, text in zip(pair(module), stated):
        result = outcomes.outcome(call, each)
        assert outcomes.matches(result, text), result


def test_each_stated_difference_is_one_of_a_call():
    different = {(m, case) for m in CALLS for case, (_, same) in CALLS[m].items() if same is None}
    assert different == set(DIFFERENCES)
    assert all(before != after for before, after in DIFFERENCES.values())


def test_results_have_types_in_signatures():
    before, after = pair("contour")
    assert before.Generator.filled.__doc__.strip().endswith("-> tuple")
    offsets = "list[numpy.typing.NDArray[numpy.uint32] | None]]"
    assert after.Generator.filled.__doc__.strip().endswith(offsets)
    _, after = pair("geometry")
    assert after.distance_float64.__doc__.endswith("-> numpy.typing.NDArray[numpy.float64]")


def test_lines_of_code():
    counted = {
        module: tuple(
            outcomes.lines_of_code(outcomes.HERE / "src" / when / f"{module}.cpp") for when in WHEN
        )
        for module in CALLS
    }
    assert outcomes.stated_lines() == counted
