"""Protobuf: schemas compiled from the registry, records read and written in Arrow batches."""
