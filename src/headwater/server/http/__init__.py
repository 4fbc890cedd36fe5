"""The server's HTTP edge: application, middleware, authentication, errors, routes."""
