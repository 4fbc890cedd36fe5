"""The generator: made-up records whose fields are native Spark expressions."""
