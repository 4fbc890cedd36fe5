"""Rules for plan nodes and expressions, one module for each family."""
