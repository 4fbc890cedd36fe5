"""A class's keys and a configuration's faults, in the shapes of Kafka Connect's validation."""

from collections.abc import Mapping
from typing import Any

from headwater.openlineage.masking import masked
from headwater.pipeline.config import check
from headwater.pipeline.keys import SCHEMAS, ConfigKey, Kind, find


def definition(kind: Kind, key: ConfigKey, name: str = "") -> dict[str, Any]:
    """A key as Kafka Connect describes one."""
    group = [one.name for one in SCHEMAS[kind] if one.group == key.group]
    return {
        "name": name or key.name,
        "type": key.type.value,
        "required": key.required,
        "default_value": key.default,
        "importance": key.importance.value,
        "documentation": key.doc,
        "group": key.group,
        "width": "MEDIUM",
        "display_name": name or key.name,
        "dependents": [],
        "order_in_group": group.index(key.name) + 1 if key.name in group else -1,
    }


def validated(plugin: str, kind: Kind, data: Mapping[str, Any]) -> dict[str, Any]:
    """What is right and wrong with a configuration, key by key."""
    texts = {key: value if isinstance(value, str) else str(value) for key, value in data.items()}
    values = {"connector.class": plugin, **texts}
    faults = check(values)
    shown = masked(values)
    fixed = [key for key in SCHEMAS[kind] if not key.is_pattern]
    names = dict.fromkeys([*(key.name for key in fixed), *values, *faults])
    configs = []
    for name in names:
        key = find(kind, name)
        if key is None and name not in faults:
            continue  # a key that is not understood is named in a warning when it is deployed
        key = key or ConfigKey(name, "")
        errors = [f"{name} {faults[name]}"] if name in faults else []
        value = {
            "name": name,
            "value": shown.get(name, key.default),
            "recommended_values": list(key.choices),
            "errors": errors,
            "visible": True,
        }
        configs.append({"definition": definition(kind, key, name), "value": value})
    groups = list(dict.fromkeys(key.group for key in SCHEMAS[kind]))
    return {"name": plugin, "error_count": len(faults), "groups": groups, "configs": configs}
