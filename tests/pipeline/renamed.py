"""The lab's connectors, on topics and tables of a test's own."""

import json

from pipeline.lab import shipped


def renamed(name: str, to: str, **more: str) -> tuple[str, dict[str, str]]:
    """One of the connectors that are shipped, with `orders` called otherwise."""
    config: dict[str, str] = json.loads(json.dumps(shipped(name)).replace("orders", to))
    return name.replace("orders", to), {**config, **more}
