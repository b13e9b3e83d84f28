"""Our Tensor by all sixty rules: with drivers of CUDA and ROCm there is device memory too."""

from __future__ import annotations

import pytest

from dlbridge.tools import conformance
from dlbridge.tools.conformance.rules import RULES, SIXTY
from simulated import Driver


@pytest.fixture(scope="module")
def ours() -> conformance.Report:
    assert Driver("cuda").races == Driver("hip").races == []  # the simulated drivers
    return conformance.examine("conformance_targets:tensor", consumer="dlbridge:from_dlpack")


def test_sixty_of_sixty(ours: conformance.Report) -> None:
    results = [it for it in ours.results if it.id in SIXTY]
    assert [it for it in results if it.outcome != "pass"] == []
    assert len(results) == 60


def test_nothing_fails_beyond_the_sixty(ours: conformance.Report) -> None:
    beyond = [it for it in ours.results if it.id not in SIXTY]
    assert [it for it in beyond if it.outcome not in ("pass", "skip")] == []
    assert len(beyond) == len(RULES) - 60
