# SPDX-License-Identifier: BSD-3-Clause
"""Results as NumPy computes them, and the progress of other threads during a call."""

from __future__ import annotations

import threading
import time

import numpy as np
import point_cloud
import point_cloud_serial
import pytest
import torch


@pytest.fixture(params=[point_cloud, point_cloud_serial], ids=["openmp", "serial"])
def module(request):
    return request.param


@pytest.fixture
def clouds():
    random = np.random.default_rng(0)
    return [random.random((count, 3), dtype="float32") for count in (257, 1000)]


def nearest_by_numpy(queries, cloud):
    return ((queries[:, None] - cloud[None]) ** 2).sum(axis=2).argmin(axis=1)


def test_nearest(module, clouds):
    queries, cloud = clouds
    out = module.nearest(queries, cloud)
    assert type(out) is np.ndarray and out.dtype == np.int64
    assert np.array_equal(out, nearest_by_numpy(queries, cloud))
    strided = torch.from_numpy(cloud)[::3]
    out = module.nearest(torch.from_numpy(queries.T.copy()).T, strided)
    assert type(out) is torch.Tensor
    assert np.array_equal(out, nearest_by_numpy(queries, strided.numpy()))


def test_translate(module, clouds):
    cloud = clouds[0]
    expected = cloud + np.array([1, -2, 0.5], "float32")
    module.translate(cloud, 1, -2, 0.5)
    assert np.array_equal(cloud, expected)


def test_errors(module, clouds):
    with pytest.raises(TypeError, match=r"'cloud': expected float32\[\*, 3\] on cpu; got"):
        module.nearest(clouds[0], np.zeros((4, 2), "float32"))
    with pytest.raises(ValueError, match="without points"):
        module.nearest(clouds[0], np.zeros((0, 3), "float32"))
    assert module.nearest(np.zeros((0, 3), "float32"), clouds[0]).shape == (0,)


def test_threads_of_openmp():
    assert point_cloud_serial.threads() == 1
    with open(point_cloud.__file__, "rb") as file:
        if b"omp_get_max_threads" not in file.read():
            pytest.skip("compiled without OpenMP")
    assert point_cloud.threads() >= 1


def progress_during(call):
    """Runs a call in a thread. Returns how often this thread ran Python code in the middle half of
    the call."""
    span = []

    def timed():
        begin = time.monotonic()
        call()
        span.extend([begin, time.monotonic()])

    thread = threading.Thread(target=timed)
    thread.start()
    steps = []
    while not span:
        steps.append(time.monotonic())
        time.sleep(0.001)
    thread.join()
    begin, end = span
    quarter = (end - begin) / 4
    return sum(begin + quarter < step < end - quarter for step in steps)


def test_other_threads_run_during_a_call():
    """With the GIL held, the same call blocks this thread: the control of the test."""
    random = np.random.default_rng(0)
    queries, cloud = (random.random((16_000, 3), dtype="float32") for _ in range(2))
    assert progress_during(lambda: point_cloud.nearest(queries, cloud)) > 0
    assert progress_during(lambda: point_cloud.nearest_with_gil(queries, cloud)) == 0
