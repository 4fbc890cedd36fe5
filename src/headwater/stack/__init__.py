"""The local platform: Kafka, registry, object store, metastore, without Docker."""
