"""cuda.core: its views of memory; those of the CPU need no driver."""

from exchanges import test_exchange, test_the_table_names_what_there_is

LIBRARY = "cuda.core"

__all__ = ["test_exchange", "test_the_table_names_what_there_is"]
