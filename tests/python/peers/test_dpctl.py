"""dpctl up to 0.21, whose arrays have moved to dpnp."""

from exchanges import test_exchange, test_the_table_names_what_there_is
from usm_arrays import test_own_arrays_return, test_the_struct_has_the_data_of_the_producer

LIBRARY = "dpctl"

__all__ = [
    "test_exchange",
    "test_own_arrays_return",
    "test_the_struct_has_the_data_of_the_producer",
    "test_the_table_names_what_there_is",
]
