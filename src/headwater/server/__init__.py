"""The lineage server: ingests, stores, answers, streams."""
