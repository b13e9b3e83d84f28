"""dlbridge.typing: what isinstance tells."""

from __future__ import annotations

import array

import pytest

import dlbridge
from dlbridge.typing import SupportsDLPack, SupportsStream


def test_isinstance_of_the_protocols() -> None:
    tensor = dlbridge.as_tensor(array.array("f", [1.0]))
    assert isinstance(tensor, SupportsDLPack)
    assert not hasattr(tensor, "__cuda_stream__")
    with pytest.raises(TypeError):  # it would see that the type has the attribute on other devices
        isinstance(tensor, SupportsStream)  # type: ignore[misc]
