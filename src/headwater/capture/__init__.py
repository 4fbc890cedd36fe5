"""Observes Spark and reports what it sees as OpenLineage events."""
