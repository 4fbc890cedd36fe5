"""A random day of a worker against a model of it: rows always equal what the model says.

`make worker-model` takes 200 steps and more; `HEADWATER_MODEL_SEED` repeats a day.
"""

import logging
import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from pipeline.plain import Plain, move, offsets, put, resume, sink, states, stop
from pipeline.process import WorkerProcess
from stack.platform import Platform, eventually

_log = logging.getLogger(__name__)
STEPS = int(os.environ.get("HEADWATER_MODEL_STEPS", "12"))
SEED = int(os.environ.get("HEADWATER_MODEL_SEED", "20"))
LIMIT_S = 240
TOPICS = ("model-a", "model-b", "model-c")
FOLDERS = ("model", "model-x")


class Model:
    """One S3 sink, three topics, two folders: what is read, and where each record must be."""

    def __init__(self, worker: WorkerProcess, plain: Plain, seed: int) -> None:
        self.worker, self.plain, self.random = worker, plain, random.Random(seed)
        self.topics: set[str] = set()
        self.folder = FOLDERS[0]
        self.format, self.flush = "Json", 5
        self.sent = dict.fromkeys(TOPICS, 0)  # ids; also the end of the only partition
        self.read = dict.fromkeys(TOPICS, 0)  # how much of it the sink must have written
        self.rows: Counter[tuple[str, str, int]] = Counter()  # folder, topic, id
        self.deployed = self.running = False

    def send(self) -> None:
        topic, count = self.random.choice(TOPICS), self.random.randint(1, 12)
        start = self.sent[topic]
        self.plain.send(topic, range(start, start + count))
        self.sent[topic] += count

    def change_topics(self) -> None:
        wanted = self.random.sample(TOPICS, self.random.randint(1, len(TOPICS)))
        self._settle()
        self.topics = set(wanted)
        self._deploy()

    def move_folder(self) -> None:
        if self.deployed:
            self._settle()
            self.folder = self.random.choice(FOLDERS)
            self._deploy()

    def change_format(self) -> None:
        if self.deployed:
            self.format = self.random.choice(("Json", "Avro", "Parquet"))
            self.flush = self.random.randint(2, 9)
            self._settle()
            self._deploy()

    def pause(self) -> None:
        if self.deployed and self.running:
            self._settle()
            assert self.worker.ask("PUT", "/connectors/model/pause").status_code == 202
            eventually(lambda: set(states(self.worker, "model")) == {"PAUSED"}, LIMIT_S)
            self.running = False

    def resume(self) -> None:
        if self.deployed and not self.running:
            resume(self.worker, "model")
            self.running = True

    def patch_offsets(self) -> None:
        """Back to an offset: what is in this folder from there on is written again, once."""
        topic = self.random.choice(sorted(self.topics) or TOPICS)
        if not self.deployed or not self.running or not self.read[topic]:
            return
        self._settle()
        if any(key[0] != self.folder and key[1] == topic for key in self.rows):
            return  # it would be read into another folder once more, as it should
        stop(self.worker, "model")
        known = offsets(self.worker, "model")
        if (topic, 0) in known:
            wanted = self.random.randint(0, self.read[topic])
            moved = move(self.worker, "model", topic, {0: wanted})
            assert moved.status_code == 200, moved.text
        self.running = False
        self.resume()

    def delete_and_create(self) -> None:
        if self.deployed:
            self._settle()
            assert self.worker.ask("DELETE", "/connectors/model").status_code == 204
            self._deploy()

    def kill_worker(self) -> None:
        self.worker.kill()
        self.worker.start()

    def kill_jvm(self) -> None:
        for process in self.worker.processes():
            if "java" in process.name():
                process.kill()
        assert self.worker.ended() != 0
        self.worker.start()

    def suspend_services(self) -> None:
        for service in ("s3", "kafka"):
            pid = self.worker.platform.service(service)["pid"]
            process = psutil.Process(pid)
            process.suspend()
            self.send_nothing()
            process.resume()

    def send_nothing(self) -> None:
        self.worker.get("/connectors?expand=status")  # it answers, whatever hangs

    def check(self) -> None:
        """Let the sink come to the end, and compare every object with the model."""
        if not (self.deployed and self.running):
            return
        self._settle()

    def _deploy(self) -> None:
        config = sink(
            ",".join(sorted(self.topics)),
            topics__dir=self.folder,
            format__class=f"{self.format}Format",
            flush__size=str(self.flush),
        )
        put(self.worker, "model", config)
        self.deployed = True
        status = self.worker.get("/connectors/model/status")["connector"]["state"]
        self.running = status not in ("PAUSED", "STOPPED")

    def _settle(self) -> None:
        """What has been sent by now is written before the next change."""
        if not (self.deployed and self.running):
            return
        for topic in self.topics:
            for number in range(self.read[topic], self.sent[topic]):
                self.rows[self.folder, topic, number] += 1
            self.read[topic] = self.sent[topic]
        eventually(self._agrees, LIMIT_S)

    def _agrees(self) -> bool:
        found = Counter(
            {
                (folder, topic, number): times
                for folder in FOLDERS
                for topic in TOPICS
                for number, times in self.plain.rows(f"{folder}/{topic}/").items()
            }
        )
        done = offsets(self.worker, "model")
        ends = {(topic, 0): self.sent[topic] for topic in self.topics if self.sent[topic]}
        return found == self.rows and ends.items() <= done.items()


@pytest.fixture
def worker(platform: Platform, tmp_path: Path) -> Iterator[WorkerProcess]:
    worker = WorkerProcess(platform, tmp_path / "state")
    worker.start()
    yield worker
    worker.stop()


def test_rows_are_what_the_model_says(worker: WorkerProcess, platform: Platform) -> None:
    plain = Plain(platform)
    for topic in TOPICS:
        plain.topic(topic)
    model = Model(worker, plain, SEED)
    often: list[Callable[[], None]] = [model.send] * 4 + [
        *(model.change_topics, model.move_folder, model.change_format, model.check),
        *(model.pause, model.resume, model.resume, model.patch_offsets, model.delete_and_create),
    ]
    rare = [model.kill_worker, model.kill_jvm, model.suspend_services]
    model.send()
    model.change_topics()
    for number in range(STEPS):
        step = model.random.choice(rare if number % 10 == 9 else often)
        _log.info("%d %s", number, step.__name__)
        step()
    model.resume()
    model.check()
