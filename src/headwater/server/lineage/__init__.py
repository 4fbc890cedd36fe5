"""Questions about lineage, each answered once over a view of the store at any moment."""
