"""Names the datasets that a plan reads and writes, by OpenLineage's conventions."""
