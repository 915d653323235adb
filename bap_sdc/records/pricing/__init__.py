"""Column generation for parts of a table of records, and the processes that solve parts apart."""
