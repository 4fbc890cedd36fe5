"""Schemas of topics: a registry's client, and Protobuf compiled from what it keeps."""
