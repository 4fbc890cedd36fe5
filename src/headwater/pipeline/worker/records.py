"""Which checkpoint belongs to which task, through every change of a connector."""

import hashlib
import uuid
from collections.abc import Iterable, Mapping

from headwater.pipeline.config import ConnectorConfig, Kind
from headwater.pipeline.flows import flow_name
from headwater.pipeline.targets import DEAD_LETTERS, TABLE, Target, routes
from headwater.pipeline.worker.definitions import Definition, OldDefinition, Origin, TaskRecord
from headwater.pipeline.worker.store import encoded


def with_records(
    definition: Definition,
    targets: Iterable[Target],
    taken: Mapping[str, TaskRecord] | None = None,
) -> Definition:
    """A definition with a record for each target.

    A task that is there already keeps its record, also while its topic is not read. One whose
    topic went to another target before goes on from there, as does one that takes a target over
    from another connector (`taken`, by key).
    """
    wanted = [target for target in targets if target.place]
    keys = {target.key for target in wanted}
    records = dict(definition.tasks)
    for target in wanted:
        if target.key in records:
            continue
        before = _before(target, {key: one for key, one in records.items() if key not in keys})
        origin = None
        if before:
            origin = Origin(before, records.pop(before)).shortened()
        elif taken and target.key in taken:
            origin = Origin(target.key, taken[target.key]).shortened()
        records[target.key] = TaskRecord(new_checkpoint(definition, target), origin=origin)
    return definition.changed(tasks=records)


def fresh(definition: Definition, targets: Iterable[Target]) -> Definition:
    """A definition whose tasks have no past."""
    clean = definition.changed(generation=uuid.uuid4().hex, tasks={})
    return with_records(clean, targets)


def adopted(old: OldDefinition, targets: Mapping[str, str]) -> Definition:
    """The definition of an earlier version; `targets` are its queries' names by their keys."""
    records = {
        key: TaskRecord(
            f"{old.name}/{old.life}/{name}", starts=old.starts.get(Target.of(key).topic)
        )
        for key, name in targets.items()
    }
    config = {} if old.deleted else old.config
    return Definition(old.name, config, old.target, old.life, records, deleted=old.deleted)


def old_names(config: ConnectorConfig, targets: Iterable[Target]) -> dict[str, str]:
    """The names that earlier versions called a connector's queries, and their checkpoints, by."""
    topics = config.names("topics")
    found = {}
    for target in targets:
        if config.kind is Kind.JOB:
            name = config.get("job.name")
        elif target.place.startswith(DEAD_LETTERS):
            name = f"{config.name}.{target.topic}.dead-letters"
        elif config.kind is Kind.ICEBERG_SINK:
            ways = routes(config)
            table = target.place.removeprefix(TABLE).partition(".")[2]
            one_each = len({way.topic for way in ways}) == len(ways)
            part = target.topic if one_each else f"{target.topic}.{table}"
            name = flow_name(config, part, len(ways))
        else:
            name = flow_name(config, target.topic, len(topics))
        found[target.key] = name
    return found


def handed_back(definition: Definition, records: Mapping[str, TaskRecord]) -> Definition:
    """A definition whose tasks go on where another connector has brought their targets."""
    tasks = dict(definition.tasks)
    for key in tasks.keys() & records.keys():
        origin = Origin(key, records[key]).shortened()
        tasks[key] = TaskRecord(new_checkpoint(definition, Target.of(key)), origin=origin)
    return definition.changed(tasks=tasks)


def new_checkpoint(definition: Definition, target: Target) -> str:
    """A folder for the checkpoint of a task, used by no one before."""
    text = f"{target.key} {uuid.uuid4().hex}"
    number = hashlib.sha256(text.encode()).hexdigest()[:12]
    folder = f"{encoded(target.topic)}-{number}" if target.topic else number
    return f"{encoded(definition.name)}/{definition.generation}/{folder}"


def _before(target: Target, others: Mapping[str, TaskRecord]) -> str:
    """The key of the one task that read the same topic into another place."""
    letters = target.place.startswith(DEAD_LETTERS)
    found = [
        key
        for key in others
        if target.topic
        and Target.of(key).topic == target.topic
        and Target.of(key).place.startswith(DEAD_LETTERS) == letters
    ]
    return found[0] if len(found) == 1 else ""
