"""The lab's jobs: pure transformations, each with a thin main of its own."""
