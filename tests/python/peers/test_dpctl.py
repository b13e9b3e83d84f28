# SPDX-License-Identifier: BSD-3-Clause
"""dpctl up to 0.21, whose arrays have moved to dpnp."""

from exchanges import test_exchange, test_the_table_names_what_there_is
from usm_arrays import (
    test_a_tensor_is_ready_on_the_queue_of_its_import,
    test_own_arrays_return,
    test_the_queue_of_a_consumer_waits,
    test_the_struct_has_the_data_of_the_producer,
    test_without_a_queue_a_consumer_does_not_wait,
    write,
)

LIBRARY = "dpctl"

__all__ = [
    "test_a_tensor_is_ready_on_the_queue_of_its_import",
    "test_exchange",
    "test_own_arrays_return",
    "test_the_queue_of_a_consumer_waits",
    "test_the_struct_has_the_data_of_the_producer",
    "test_the_table_names_what_there_is",
    "test_without_a_queue_a_consumer_does_not_wait",
    "write",
]
