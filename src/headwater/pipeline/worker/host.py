"""The worker itself: connectors deployed, watched, changed and ended, each on its own."""

import logging
import threading
import uuid
from collections.abc import Mapping
from typing import Any

import msgspec
from pyspark.sql import SparkSession

from headwater.errors import ConnectorConflict, UnknownConnector
from headwater.openlineage.masking import unmasked
from headwater.pipeline.config import CLASSES, ConnectorConfig, Kind, parse
from headwater.pipeline.flows import Site
from headwater.pipeline.hosting import Hosted, verify
from headwater.pipeline.journal import Journal, Line, batch_lines
from headwater.pipeline.secrets import scrubbed
from headwater.pipeline.settings import Settings
from headwater.pipeline.states import State, told
from headwater.pipeline.worker.definitions import Definition, decode_all, encode
from headwater.pipeline.worker.shelf import Shelf

_log = logging.getLogger(__name__)
_POLL_S = 0.5


class Worker:
    """Hosts connectors; every method may be called from any thread."""

    def __init__(
        self, spark: SparkSession, settings: Settings, shelf: Shelf, checkpoints: str
    ) -> None:
        self._spark, self._settings = spark, settings
        self._shelf, self._checkpoints = shelf, checkpoints.rstrip("/")
        self._lock = threading.RLock()
        self._definitions: dict[str, Definition] = {}
        self._hosted: dict[str, Hosted] = {}
        self._faults: dict[str, str] = {}
        self._journals: dict[str, Journal] = {}
        self._ended = threading.Event()
        self._watch = threading.Thread(target=self._look_after, name="watch", daemon=True)

    def start(self) -> None:
        """Take up what the last worker left; its connectors start while the API answers."""
        self._definitions = decode_all(self._shelf.read())
        self._watch.start()

    def close(self) -> None:
        """End every query; what is deployed stays deployed."""
        self._ended.set()
        self._watch.join()
        with self._lock:
            for hosted in self._hosted.values():
                hosted.stop()

    def names(self) -> list[str]:
        """The connectors' names."""
        return sorted(name for name, one in self._definitions.items() if not one.deleted)

    def definition(self, name: str) -> Definition:
        """One connector's definition.

        Raises:
            UnknownConnector: there is none of that name.

        """
        found = self._definitions.get(name)
        if found is None or found.deleted:
            raise UnknownConnector(name)
        return found

    def create(self, name: str, values: Mapping[str, object], target: State) -> Definition:
        """Deploy a new connector.

        Raises:
            ConnectorConflict: there is one of that name.
            BadConfig: it cannot start.

        """
        with self._lock:
            if name in self.names():
                raise ConnectorConflict(name, "already exists")
            config = dict(self._parse(name, values).values)
            before = self._definitions.get(name, Definition(name, config))
            return self._deploy(before.changed(config=config, target=target, deleted=False))

    def configure(self, name: str, values: Mapping[str, object]) -> tuple[Definition, bool]:
        """Deploy a connector or change it, and say whether it is new."""
        with self._lock:
            old = self._definitions.get(name)
            if old is None or old.deleted:
                return self.create(name, values, State.RUNNING), True
            texts = {key: str(value) for key, value in values.items()}
            config = self._parse(name, unmasked(texts, old.config))
            self._halt(name)
            return self._deploy(old.changed(config=dict(config.values))), False

    def patch(self, name: str, values: Mapping[str, object]) -> Definition:
        """Change some keys of a connector; null takes one away."""
        with self._lock:
            merged: dict[str, object] = {**self.definition(name).config, **values}
            kept = {key: value for key, value in merged.items() if value is not None}
            return self.configure(name, kept)[0]

    def delete(self, name: str) -> None:
        """End a connector and forget it."""
        with self._lock:
            ended = self.definition(name).changed(target=State.STOPPED, deleted=True)
            self._halt(name)
            self._deploy(ended)

    def turn(self, name: str, target: State) -> None:
        """Pause, stop or resume a connector."""
        with self._lock:
            definition = self.definition(name)
            if definition.target == target:
                return
            offsets = self.offsets(name)
            self._halt(name)
            self._deploy(definition.changed(target=target, offsets=offsets))

    def restart(self, name: str, *, tasks: bool, only_failed: bool) -> None:
        """Build a connector again, or those of its tasks that failed."""
        with self._lock:
            definition, hosted = self.definition(name), self._hosted.get(name)
            if hosted is None or (not only_failed and tasks):
                self._halt(name)
                self._launch(definition)
                return
            for task in hosted.tasks:
                if tasks and task.trace:
                    hosted.restart(task)

    def restart_task(self, name: str, number: int) -> None:
        """Build one task again."""
        with self._lock:
            hosted = self._hosted.get(self.definition(name).name)
            if hosted is None or number >= len(hosted.tasks):
                raise UnknownConnector(f"{name}, task {number},")
            hosted.restart(hosted.tasks[number])

    def tasks(self, name: str) -> list[tuple[State, str]]:
        """Each task's state and why it failed."""
        with self._lock:
            definition, hosted = self.definition(name), self._hosted.get(name)
            if hosted is None:
                return []
            if definition.target == State.PAUSED:
                return [(State.PAUSED, "") for _ in hosted.tasks]
            return [(task.state, hosted.trace(task)) for task in hosted.tasks]

    def state(self, name: str) -> tuple[State, str]:
        """The connector's own state, and why it failed if it could not even be planned."""
        fault = self._faults.get(name, "")
        return (State.FAILED, fault) if fault else (self.definition(name).target, "")

    def offsets(self, name: str) -> list[dict[str, object]]:
        """How far a connector has come, in Kafka Connect's shape."""
        with self._lock:
            definition, hosted = self.definition(name), self._hosted.get(name)
            found: list[dict[str, object]] = []
            for task in hosted.tasks if hosted else []:
                progress = task.query.lastProgress if task.query else None
                for source in msgspec.json.decode(progress.json)["sources"] if progress else []:
                    # A trigger without new records has only a start.
                    ends = source["endOffset"] or source["startOffset"]
                    found += _offsets(task.flow.name, ends)
            return found or definition.offsets

    def logs(self, name: str, count: int) -> list[Line]:
        """What happened to a connector lately, and its last micro-batches."""
        with self._lock:
            definition, hosted = self.definition(name), self._hosted.get(name)
            lines = self._journal(name).last(count)
            for task in hosted.tasks if hosted else []:
                lines += batch_lines(task.flow.name, task.query) if task.query else []
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
            self._deploy(self._stopped(name).reborn())

    def move_offsets(self, name: str, wanted: list[dict[str, Any]]) -> None:
        """Let a stopped sink go on at other offsets; partitions that are not named stay.

        Raises:
            ConnectorConflict: it is not stopped, or no sink.

        """
        with self._lock:
            definition = self._stopped(name)
            if CLASSES[definition.config["connector.class"]] in (Kind.GENERATOR, Kind.JOB):
                raise ConnectorConflict(name, "reads no topic whose offsets could be changed")
            starts: dict[str, dict[int, int]] = {}
            for one in [*definition.offsets, *wanted]:
                topic, number, offset = _kafka_offset(name, one)
                starts.setdefault(topic, {})[number] = offset
            self._deploy(definition.reborn(starts).changed(offsets=[*_as_offsets(starts)]))

    def topics(self, name: str) -> list[str]:
        """The topics that a connector reads or writes."""
        values = self.definition(name).config
        if CLASSES[values["connector.class"]] is Kind.GENERATOR:
            made = {
                key[5:].rpartition(".")[0].rpartition(".")[0] for key in values if _is_genv(key)
            }
            return sorted(made)
        return [topic for part in values.get("topics", "").split(",") if (topic := part.strip())]

    def _stopped(self, name: str) -> Definition:
        definition = self.definition(name)
        if definition.target != State.STOPPED:
            raise ConnectorConflict(name, "must be stopped before its offsets are changed")
        return definition

    def _parse(self, name: str, values: Mapping[str, object]) -> ConnectorConfig:
        config = parse(name, values, self._settings.environ)
        verify(config)
        return config

    def _deploy(self, definition: Definition) -> Definition:
        self._shelf.write(definition.name, encode(definition))
        self._definitions[definition.name] = definition
        self._launch(definition)
        return definition

    def _launch(self, definition: Definition) -> None:
        name = definition.name
        self._faults.pop(name, None)
        if definition.target == State.STOPPED:
            return
        try:
            config = self._parse(name, definition.config)
            # A generator begins anew each time: it repeats no record, nor makes up for a pause.
            made = config.kind is Kind.GENERATOR
            life = uuid.uuid4().hex if made else definition.life
            site = Site(self._spark, self._settings, seed=life, starts=definition.starts)
            folder = f"{self._checkpoints}/{name}/{life}"
            hosted = Hosted(config, site, folder, self._journal(name))
            self._hosted[name] = hosted
            if definition.target == State.RUNNING:
                hosted.start()
        except Exception as error:  # a connector that cannot be planned is its own affair
            _log.exception("%s cannot start", name)
            told_safely = scrubbed(told(error), definition.config, self._settings.environ)
            self._faults[name] = told_safely
            self._journal(name).error(told_safely)

    def _journal(self, name: str) -> Journal:
        return self._journals.setdefault(name, Journal())

    def _halt(self, name: str) -> None:
        hosted = self._hosted.pop(name, None)
        if hosted:
            hosted.stop()

    def _look_after(self) -> None:
        for name in self.names():
            with self._lock:
                # Whoever was quicker has changed, deleted or started it.
                if name in self.names() and name not in self._hosted and not self._ended.is_set():
                    self._launch(self._definitions[name])
        while not self._ended.wait(_POLL_S):
            with self._lock:
                for name, hosted in self._hosted.items():
                    if self._definitions[name].target == State.RUNNING:
                        hosted.poll()


def _is_genv(key: str) -> bool:
    return key.startswith("genv.")


def _kafka_offset(name: str, one: dict[str, Any]) -> tuple[str, int, int]:
    try:
        partition, offset = one["partition"], (one["offset"] or {"kafka_offset": 0})
        return (
            str(partition["kafka_topic"]),
            int(partition["kafka_partition"]),
            int(offset["kafka_offset"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ConnectorConflict(name, f"cannot use the offset {one}") from error


def _as_offsets(starts: Mapping[str, Mapping[int, int]]) -> list[dict[str, object]]:
    return [
        one for topic, partitions in starts.items() for one in _offsets("", {topic: partitions})
    ]


def _offsets(flow: str, ends: Any) -> list[dict[str, object]]:
    if not isinstance(ends, dict):
        return [{"partition": {"flow": flow}, "offset": {"position": ends}}]
    return [
        {
            "partition": {"kafka_topic": topic, "kafka_partition": int(number)},
            "offset": {"kafka_offset": offset},
        }
        for topic, partitions in ends.items()
        for number, offset in partitions.items()
    ]
