# SPDX-License-Identifier: BSD-3-Clause
"""The checks by subject; the order of the imports is the order of the table."""

from __future__ import annotations

# isort: off
from proof.checks import machine as machine
from proof.checks import zero_copy as zero_copy
from proof.checks import order as order
from proof.checks import contexts as contexts
from proof.checks import host as host
from proof.checks import copies as copies
from proof.checks import frees as frees
from proof.checks import captures as captures
from proof.checks import failures as failures
from proof.checks import processes as processes
from proof.checks import cpp as cpp
from proof.checks import torch_arrays as torch_arrays
from proof.checks import cupy_arrays as cupy_arrays
from proof.checks import other_arrays as other_arrays
from proof.checks import conformance as conformance
from proof.checks import speed as speed
from proof.checks import sanitizer as sanitizer
# isort: on
