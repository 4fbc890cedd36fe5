"""What changes, told as it happens: the feed, its streams, webhooks."""
