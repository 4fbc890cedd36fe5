"""What the server's and the worker's HTTP APIs share: checks of requests, and API keys."""
