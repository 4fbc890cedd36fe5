"""Turns what `lineage` finds into the response shapes of Marquez's API."""
