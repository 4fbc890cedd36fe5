"""How events get into the store."""
