"""dpctl up to 0.21, whose arrays have moved to dpnp."""

from exchanges import test_exchange, test_the_table_names_what_there_is

LIBRARY = "dpctl"

__all__ = ["test_exchange", "test_the_table_names_what_there_is"]
