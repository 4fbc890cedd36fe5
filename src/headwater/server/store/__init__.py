"""Durable lineage: SQLite or PostgreSQL behind one schema."""
