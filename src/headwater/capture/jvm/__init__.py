"""Applications whose driver is a JVM: Java, Scala and SQL, observed from a Python beside it."""
