"""The vocabulary: names, events, facets, graph. No I/O."""
