# SPDX-License-Identifier: BSD-3-Clause
"""Triggers every error message of refusals.txt and compares it."""

from __future__ import annotations

import re
from pathlib import Path

import image_filter
import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

MESSAGES = dict(
    re.findall(
        r"^\[(\w+)\]\n(.*?)\n\[/\1\]$",
        Path(__file__).with_name("refusals.txt").read_text(),
        re.DOTALL | re.MULTILINE,
    )
)


class Failing:
    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **_):
        raise RuntimeError("device lost")


def gain_of_frozen():
    frozen = np.ones((2, 2), "float32")
    frozen.flags.writeable = False
    image_filter.gain(frozen)


def mean_of_fake():
    with FakeTensorMode():
        fake = torch.ones(2, 2)
    image_filter.mean(fake)


CALLS = {
    "luma": lambda: image_filter.luma(np.zeros((4, 2), "int64")),
    "read_only": gain_of_frozen,
    "no_tensor": lambda: image_filter.luma([1, 2]),
    "missing": lambda: image_filter.gain(factor=2),
    "producer": lambda: image_filter.luma(Failing()),
    "fake": mean_of_fake,
    "overloads": lambda: image_filter.threshold(np.zeros((2, 2), "int16"), 1),
    "visit": lambda: image_filter.brightest(np.zeros((2, 2), "float16")),
    "plain": lambda: image_filter.pixels(3),
}


@pytest.mark.filterwarnings("ignore:Accessing the data pointer of FakeTensor")
@pytest.mark.parametrize("name", CALLS)
def test_text(name):
    with pytest.raises(BufferError if name == "visit" else TypeError) as raised:
        CALLS[name]()
    assert str(raised.value).splitlines() == MESSAGES[name].splitlines()


def test_each_text_has_a_call():
    assert MESSAGES.keys() == CALLS.keys()


def test_the_producers_exception_is_the_cause():
    with pytest.raises(TypeError) as raised:
        image_filter.luma(Failing())
    assert isinstance(raised.value.__cause__, RuntimeError)
