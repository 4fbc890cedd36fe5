"""Sinks: topics into the object store and into Iceberg tables."""
