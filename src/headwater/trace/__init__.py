"""A row of a table, traced back to the records of topics that it came from."""
