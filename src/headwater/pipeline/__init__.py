"""The data pipeline on PySpark: connectors, streaming and batch jobs, the worker."""
