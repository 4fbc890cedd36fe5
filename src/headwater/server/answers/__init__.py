"""Answers to questions about lineage, in the shapes that Marquez's clients know."""
