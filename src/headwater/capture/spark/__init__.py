"""Everything that touches Spark's JVM: plans, leaves, sinks, listeners."""
