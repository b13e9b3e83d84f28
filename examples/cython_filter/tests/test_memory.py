# SPDX-License-Identifier: BSD-3-Clause
"""Extension types that export their memory, with NumPy, PyTorch and dlbridge."""

from __future__ import annotations

import gc
import inspect
import struct
import weakref

import numpy as np
import pytest
import torch
from cython_filter import filters, memory

import dlbridge

IMPORTERS = [np.from_dlpack, torch.from_dlpack, dlbridge.from_dlpack]


class Image(memory.Image):
    """A subclass, whose objects have weak references."""


@pytest.mark.parametrize("importer", IMPORTERS, ids=["numpy", "torch", "dlbridge"])
def test_memory_is_shared(importer):
    image = memory.Image(2, 3)
    pixels = np.from_dlpack(image)
    assert pixels.dtype == np.float32 and pixels.tolist() == [[0, 0, 0], [0, 0, 0]]
    other = importer(image)
    pixels[1, 2] = 5
    assert np.asarray(other).tolist() == [[0, 0, 0], [0, 0, 5]]
    np.asarray(other)[0, 0] = 4
    assert pixels[0, 0] == 4


@pytest.mark.parametrize("importer", IMPORTERS, ids=["numpy", "torch", "dlbridge"])
def test_memory_lives_as_long_as_its_last_consumer(importer):
    image = Image(1000, 1000)
    reference = weakref.ref(image)
    consumers = [importer(image) for _ in range(3)]
    del image
    for _ in range(3):
        gc.collect()
        assert reference() is not None
        assert np.asarray(consumers.pop()).sum() == 0
    gc.collect()
    assert reference() is None


def test_functions_accept_an_image():
    image = memory.Image(2, 2)
    pixels = np.from_dlpack(image)
    pixels[:] = [[1, 2], [3, 4]]
    filters.scale(image, 10)
    assert pixels.tolist() == [[10, 20], [30, 40]] and filters.mean(image) == 25
    assert filters.describe(image)["address"] == pixels.ctypes.data


def test_the_protocol():
    image = memory.Image(2, 3)
    assert image.__dlpack_device__() == (1, 0)
    assert "dltensor_versioned" in repr(image.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(image.__dlpack__())
    assert "dlpack_exchange_api" in repr(memory.Image.__dlpack_c_exchange_api__)
    assert "max_version" in str(inspect.signature(memory.Image.__dlpack__))
    copied = np.from_dlpack(image, copy=True)
    np.from_dlpack(image)[0, 0] = 1
    assert copied[0, 0] == 0


def test_two_types_of_a_module_have_methods_of_their_own():
    stored = struct.pack("3q", 1, -2, 3)
    column = memory.Column(stored, "int64")
    values = np.from_dlpack(column)
    assert values.dtype == np.int64 and values.tolist() == [1, -2, 3]
    assert not values.flags.writeable
    assert values.ctypes.data == np.frombuffer(stored, "int64").ctypes.data
    del column, stored
    gc.collect()
    assert values.tolist() == [1, -2, 3]
    assert dlbridge.from_dlpack(memory.Column(bytes(8), "float32")).shape == (2,)


def test_a_column_that_refuses_its_export():
    text = memory.Column(b"one two", "text")
    assert text.__dlpack_device__() == (1, 0)
    for importer in IMPORTERS:
        with pytest.raises(BufferError, match=r"^a column of text is no tensor$"):
            importer(text)
    with pytest.raises(TypeError, match=r"describe.*'x'.*a column of text is no tensor") as raised:
        filters.describe(text)
    assert isinstance(raised.value.__cause__, BufferError)
