"""dpctl up to 0.21, which had the arrays that are dpnp's now."""

from exchanges import test_exchange, test_the_table_names_what_there_is

LIBRARY = "dpctl"

__all__ = ["test_exchange", "test_the_table_names_what_there_is"]
