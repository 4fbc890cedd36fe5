"""Topics for the page: which there are, their schemas, and their last messages decoded."""
