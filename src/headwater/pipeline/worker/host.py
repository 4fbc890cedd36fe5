"""The worker itself: what is deployed, and a runner for each connector.

Its lock is held only while definitions change. No method waits for a runner, Spark or a service,
except those that read or move offsets, which read logs.
"""

import threading
from collections.abc import Mapping
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from headwater.errors import BadConfig, ConnectorConflict, TargetOwned, UnknownConnector
from headwater.openlineage.masking import unmasked
from headwater.pipeline.config import CLASSES, ConnectorConfig, Kind, parse
from headwater.pipeline.flows import PipelineContext
from headwater.pipeline.hosting import targets, verify
from headwater.pipeline.journal import Line, batch_lines
from headwater.pipeline.secrets import scrubbed
from headwater.pipeline.settings import Settings
from headwater.pipeline.states import State
from headwater.pipeline.targets import Target
from headwater.pipeline.worker.definitions import (
    Definition,
    OldDefinition,
    TaskRecord,
    check_name,
    decode,
    encode,
)
from headwater.pipeline.worker.progress import Progress, from_connect, in_connect, is_main
from headwater.pipeline.worker.records import (
    adopted,
    fresh,
    handed_back,
    old_names,
    with_records,
)
from headwater.pipeline.worker.runner import ConnectorRunner, Snapshot, failed
from headwater.pipeline.worker.store import DefinitionStore, encoded

_CLOSE_S = 90.0


class Worker:
    """Hosts connectors; every method may be called from any thread."""

    def __init__(
        self, spark: SparkSession, settings: Settings, store: DefinitionStore, checkpoints: str
    ) -> None:
        self._context, self._settings = PipelineContext(spark, settings), settings
        self._store, self._checkpoints = store, checkpoints.rstrip("/")
        self._progress = Progress(spark, settings, self._checkpoints)
        self._lock = threading.RLock()
        self._definitions: dict[str, Definition] = {}
        self._runners: dict[str, ConnectorRunner] = {}

    def start(self) -> None:
        """Take up what the last worker left; connectors start while the API answers.

        Raises:
            StateUnreadable: a stored connector cannot be read.

        """
        for file, document in self._store.read().items():
            found = decode(file, document)
            old = isinstance(found, OldDefinition)
            definition = self._adopted(found) if isinstance(found, OldDefinition) else found
            self._definitions[definition.name] = definition
            if old or file != _file(definition.name):
                self._store.write(_file(definition.name), encode(definition))
            if file != _file(definition.name):
                self._store.remove(file)
        for definition in self._definitions.values():
            if not definition.deleted:
                self._runner(definition.name).apply(definition)

    def close(self) -> None:
        """End every query; what is deployed stays deployed."""
        with self._lock:
            runners = [*self._runners.values()]
        for runner in runners:
            runner.close()
        for runner in runners:
            runner.join(_CLOSE_S)

    def names(self) -> list[str]:
        """The connectors' names."""
        return sorted(name for name, one in self._definitions.copy().items() if not one.deleted)

    def definition(self, name: str) -> Definition:
        """One connector's definition.

        Raises:
            UnknownConnector: there is none of that name.

        """
        found = self._definitions.get(name)
        if found is None or found.deleted:
            raise UnknownConnector(name)
        return found

    def snapshot(self, name: str) -> Snapshot:
        """A connector's state and that of its tasks, as its runner last saw them."""
        self.definition(name)
        return self._runners[name].snapshot

    def create(
        self,
        name: str,
        values: Mapping[str, object],
        target: State = State.RUNNING,
        *,
        takeover: bool = False,
    ) -> Definition:
        """Deploy a new connector.

        Raises:
            ConnectorConflict: there is one of that name.
            BadConfig: it cannot start.
            TargetOwned: another connector writes where this one would.

        """
        check_name(name)
        config = self._parse(name, values)
        with self._lock:
            if name in self.names():
                raise ConnectorConflict(name, "already exists")
            before = self._definitions.get(name, Definition(name, {}))
            wanted = before.changed(config=dict(config.values), target=target, deleted=False)
            return self._deploy(wanted, config, takeover=takeover)

    def configure(
        self, name: str, values: Mapping[str, object], *, takeover: bool = False
    ) -> tuple[Definition, bool]:
        """Deploy a connector or change it, and say whether it is new."""
        old = self._definitions.get(name)
        if old is None or old.deleted:
            return self.create(name, values, takeover=takeover), True
        texts = {key: _text(value) for key, value in values.items()}
        config = self._parse(name, unmasked(texts, old.config))
        with self._lock:
            wanted = self.definition(name).changed(config=dict(config.values))
            return self._deploy(wanted, config, takeover=takeover), False

    def patch(
        self, name: str, values: Mapping[str, object], *, takeover: bool = False
    ) -> Definition:
        """Change some keys of a connector; null takes one away."""
        merged: dict[str, object] = {**self.definition(name).config, **values}
        kept = {key: value for key, value in merged.items() if value is not None}
        return self.configure(name, kept, takeover=takeover)[0]

    def delete(self, name: str, *, purge: bool = False) -> None:
        """End a connector and forget its configuration; with `purge` also how far it has come."""
        with self._lock:
            definition = self.definition(name)
            ended = definition.changed(config={}, target=State.STOPPED, deleted=True, ceded={})
            self._release(definition)
            folders: set[str] = set()
            if purge:
                folders = {one.checkpoint.partition("/")[0] for one in ended.tasks.values()}
                folders.add(encoded(name))
                folders -= self._needed_by_others(name)
                del self._definitions[name]
                self._store.remove(_file(name))
            else:
                self._keep(ended)
            self._runner(name).apply(ended, purge=[*folders])

    def set_target_state(self, name: str, target: State) -> None:
        """Pause, stop or resume a connector.

        Raises:
            ConnectorConflict: another connector has taken over a target of it.

        """
        with self._lock:
            definition = self.definition(name)
            if definition.target is target:
                return
            if target is State.RUNNING and definition.ceded:
                owners = ", ".join(f"{one} to {who}" for one, who in definition.ceded.items())
                raise ConnectorConflict(name, f"has handed over {owners}; delete that one first")
            changed = definition.changed(target=target)
            self._keep(changed)
            waits = self._writers(name, self._targets(changed)) if target is State.RUNNING else []
            self._runner(name).apply(changed, after=waits)

    def restart(self, name: str, *, tasks: bool, only_failed: bool) -> None:
        """Build a connector again, or those of its tasks that failed."""
        self.definition(name)
        runner = self._runners[name]
        if runner.snapshot.state is State.FAILED or (tasks and not only_failed):
            runner.rebuild()
        elif tasks:
            runner.restart(failed)

    def restart_task(self, name: str, number: int) -> None:
        """Build one task again."""
        tasks = self.snapshot(name).tasks
        if number >= len(tasks):
            raise UnknownConnector(f"{name}, task {number},")
        wanted = tasks[number].name
        self._runners[name].restart(lambda task: task.flow.name == wanted)

    def offsets(self, name: str) -> list[dict[str, object]]:
        """How far a connector has come, in Kafka Connect's shape."""
        definition = self.definition(name)
        found: dict[str, dict[int, int]] = {}
        positions: list[dict[str, object]] = []
        for target, record in self._main(definition):
            mine = found.setdefault(target.topic, {})
            for number, offset in self._progress.offsets(target, record).items():
                mine[number] = min(offset, mine.get(number, offset))
        for checkpoint in self._others(definition) if not found else ():
            done = self._progress.committed(checkpoint)
            found |= done.offsets if done else {}
            if done and not done.offsets:
                positions.append({"partition": {"flow": name}, "offset": {"position": done.ends}})
        return [*in_connect(found), *positions]

    def logs(self, name: str, count: int) -> list[Line]:
        """What happened to a connector lately, and its last micro-batches."""
        definition, runner = self.definition(name), self._runners[name]
        lines = runner.journal.last(count)
        for task in runner.tasks:
            query = task.query
            lines += batch_lines(task.flow.name, query) if query else []
        safe = [
            msgspec.structs.replace(
                line, message=scrubbed(line.message, definition.config, self._settings.environ)
            )
            for line in lines
        ]
        return sorted(safe, key=lambda line: line.at)[-count:] if count > 0 else []

    def forget_offsets(self, name: str) -> None:
        """Let a stopped connector begin anew.

        Raises:
            ConnectorConflict: it is not stopped.

        """
        with self._lock:
            definition = self._stopped(name)
            config = self._parse(name, definition.config)
            self._keep(fresh(definition, targets(config, self._settings)))
            self._runner(name).apply(self._definitions[name])

    def move_offsets(self, name: str, listed: list[dict[str, Any]]) -> None:
        """Let a stopped sink go on at other offsets; partitions that are not named stay.

        Raises:
            ConnectorConflict: it is not stopped, no sink, or reads no such partition.

        """
        wanted = from_connect(name, listed)
        with self._lock:
            definition = self._stopped(name)
            if CLASSES[definition.config["connector.class"]] in (Kind.GENERATOR, Kind.JOB):
                raise ConnectorConflict(name, "reads no topic whose offsets could be changed")
            unknown = sorted(wanted.keys() - set(self.topics(name)))
            if unknown:
                raise ConnectorConflict(name, f"does not read {', '.join(unknown)}")
            records = dict(definition.tasks)
            for key, record in definition.tasks.items():
                target = Target.of(key)
                if target.topic in wanted:
                    moved = self._progress.move(name, target, record, wanted[target.topic])
                    records[key] = moved
            self._keep(definition.changed(tasks=records))
            self._runner(name).apply(self._definitions[name])

    def topics(self, name: str) -> list[str]:
        """The topics that a connector reads or writes."""
        config = self._config(self.definition(name))
        if config.kind is Kind.GENERATOR:
            return [one.place.partition(":")[2] for one in targets(config, self._settings)]
        return [*config.names("topics")]

    def task_names(self, name: str) -> list[str]:
        """What a connector's tasks are called, before and while they run."""
        found = self.snapshot(name).tasks
        if found:
            return [task.name for task in found]
        definition = self.definition(name)
        if definition.target is State.STOPPED:
            return []
        config = self._config(definition)
        if config.kind is Kind.GENERATOR:
            return [name]
        return [target.key for target in targets(config, self._settings)]

    def _main(self, definition: Definition) -> list[tuple[Target, TaskRecord]]:
        config = self._config(definition)
        found = [one for one in targets(config, self._settings) if one.topic and is_main(one)]
        return [(one, definition.tasks[one.key]) for one in found if one.key in definition.tasks]

    def _others(self, definition: Definition) -> list[str]:
        """The checkpoints of a job or a generator."""
        kept = [self._progress.path(record) for record in definition.tasks.values()]
        running = [task.checkpoint for task in self.snapshot(definition.name).tasks]
        return kept or [checkpoint for checkpoint in running if checkpoint]

    def _stopped(self, name: str) -> Definition:
        definition = self.definition(name)
        if definition.target is not State.STOPPED:
            raise ConnectorConflict(name, "must be stopped before its offsets are changed")
        if not self._runner(name).is_quiet:
            raise ConnectorConflict(name, "has not stopped yet; try again in a moment")
        return definition

    def _config(self, definition: Definition) -> ConnectorConfig:
        return parse(definition.name, definition.config, self._settings.environ)

    def _parse(self, name: str, values: Mapping[str, object]) -> ConnectorConfig:
        config = parse(name, values, self._settings.environ)
        verify(config)
        return config

    def _deploy(self, wanted: Definition, config: ConnectorConfig, *, takeover: bool) -> Definition:
        name, places = wanted.name, targets(config, self._settings)
        owners = self._owners(name, places)
        if owners and not takeover:
            raise TargetOwned(name, owners)
        taken = self._take_over(name, owners)
        clean = wanted.changed(ceded={})
        records = places if config.kind is not Kind.GENERATOR else ()
        definition = with_records(clean, records, taken)
        self._keep(definition)
        self._runner(name).apply(definition, after=self._writers(name, places))
        return definition

    def _writers(self, name: str, wanted: tuple[Target, ...]) -> list[ConnectorRunner]:
        """The runners of other connectors, deleted ones too, that still write into targets."""
        places = {target.place for target in wanted if target.is_owned}
        return [
            runner
            for other, runner in self._runners.items()
            if other != name and any(task.flow.target.place in places for task in runner.tasks)
        ]

    def _owners(self, name: str, wanted: tuple[Target, ...]) -> dict[str, str]:
        """The owners of targets that another connector wants, by their places."""
        places = {target.place for target in wanted if target.is_owned}
        found: dict[str, str] = {}
        for other in self._definitions.values():
            if other.deleted or other.name == name:
                continue
            for target in self._targets(other):
                if target.place in places and target.place not in other.ceded:
                    found[target.place] = other.name
        return found

    def _take_over(self, name: str, owners: Mapping[str, str]) -> dict[str, TaskRecord]:
        """Stop the owners of targets; the records of the tasks that wrote there."""
        records: dict[str, TaskRecord] = {}
        for owner in set(owners.values()):
            definition = self._definitions[owner]
            places = {place for place, who in owners.items() if who == owner}
            records |= {
                key: record
                for key, record in definition.tasks.items()
                if Target.of(key).place in places
            }
            ceded = {**definition.ceded, **dict.fromkeys(places, name)}
            self._keep(definition.changed(target=State.STOPPED, ceded=ceded))
            self._runner(owner).apply(self._definitions[owner])
            self._runner(owner).journal.warn(f"{name} has taken over {', '.join(sorted(places))}")
        return records

    def _release(self, ended: Definition) -> None:
        """Give targets back to the connectors from which another one had taken them over."""
        for other in [*self._definitions.values()]:
            places = {place for place, who in other.ceded.items() if who == ended.name}
            if places:
                ceded = {place: who for place, who in other.ceded.items() if place not in places}
                records = {
                    key: one for key, one in ended.tasks.items() if Target.of(key).place in places
                }
                self._keep(handed_back(other, records).changed(ceded=ceded))

    def _needed_by_others(self, name: str) -> set[str]:
        """The folders with progress that other connectors are to take over."""
        found = set()
        for other in self._definitions.values():
            for record in other.tasks.values() if other.name != name else ():
                origin = record.origin
                while origin is not None:
                    found.add(origin.record.checkpoint.partition("/")[0])
                    origin = origin.record.origin
        return found

    def _targets(self, definition: Definition) -> tuple[Target, ...]:
        try:
            return targets(self._config(definition), self._settings)
        except BadConfig:  # it was deployed by a version that took it
            return tuple(Target.of(key) for key in definition.tasks)

    def _adopted(self, old: OldDefinition) -> Definition:
        config = parse(old.name, old.config, self._settings.environ)
        if config.kind is Kind.GENERATOR:
            return adopted(old, {})
        return adopted(old, old_names(config, targets(config, self._settings)))

    def _keep(self, definition: Definition) -> None:
        self._store.write(_file(definition.name), encode(definition))
        self._definitions[definition.name] = definition

    def _runner(self, name: str) -> ConnectorRunner:
        runner = self._runners.get(name)
        if runner is None:
            runner = ConnectorRunner(name, self._context, self._progress, self._checkpoints)
            self._runners[name] = runner
            runner.start()
        return runner


def _file(name: str) -> str:
    return f"{encoded(name)}.json"


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
