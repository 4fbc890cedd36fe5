"""The HTTP API: Marquez's paths, shapes and codes, and our own beside them."""
