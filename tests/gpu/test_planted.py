# SPDX-License-Identifier: BSD-3-Clause
"""The tests of the conformance tool on a simulated GPU, here on the driver of the machine.

The check planted_defects of the proof runs them.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "python" / "tools"))

# The tests of the simulated GPU: pytest collects here what is imported.
from test_device_conformance import (
    test_a_capsule_on_the_host_that_is_announced_on_the_gpu,
    test_an_unknown_stream,
    test_both_errors_of_a_refused_copy,
    test_consumers_with_no_stream_of_cuda,
    test_consumers_with_wrong_content,
    test_consumers_without_order,
    test_copies_to_the_host,
    test_invalid_streams_break_only_their_own_rule,
    test_memory_of_every_device,
    test_no_fork_after_the_driver_was_used,
    test_one_rule_reports_what_ends_the_process,
    test_our_tensor,
    test_pinned_and_managed_memory_is_real,
    test_pinned_memory_that_the_kernel_does_not_copy,
    test_producers_with_wrong_content,
    test_producers_without_order,
    test_reading_waits_for_queued_work,
    test_sound_consumers,
    test_sound_producers,
    test_the_device_of_the_examination_is_not_foreign,
    test_the_elements_of_large_arrays,
    test_views_that_leave_the_memory,
)

__all__ = [
    "test_a_capsule_on_the_host_that_is_announced_on_the_gpu",
    "test_an_unknown_stream",
    "test_both_errors_of_a_refused_copy",
    "test_consumers_with_no_stream_of_cuda",
    "test_consumers_with_wrong_content",
    "test_consumers_without_order",
    "test_copies_to_the_host",
    "test_invalid_streams_break_only_their_own_rule",
    "test_memory_of_every_device",
    "test_no_fork_after_the_driver_was_used",
    "test_one_rule_reports_what_ends_the_process",
    "test_our_tensor",
    "test_pinned_and_managed_memory_is_real",
    "test_pinned_memory_that_the_kernel_does_not_copy",
    "test_producers_with_wrong_content",
    "test_producers_without_order",
    "test_reading_waits_for_queued_work",
    "test_sound_consumers",
    "test_sound_producers",
    "test_the_device_of_the_examination_is_not_foreign",
    "test_the_elements_of_large_arrays",
    "test_views_that_leave_the_memory",
]
