"""How records are written in a topic: Avro, JSON Schema and plain JSON."""
