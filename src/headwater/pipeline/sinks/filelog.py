"""Folders that an earlier version wrote, with Spark's log of committed files.

Objects are named by their offsets now and need no log. A reader with Spark believes a log that is
there, and would not see objects beside it: the log is read for the last time, objects that it does
not name are removed, as they were written by batches that were cut short, and then the log itself.
"""

import json
from urllib.parse import unquote

from pyspark.sql import SparkSession

from headwater.pipeline.commitlog import CommitLog
from headwater.pipeline.sinks.objects import ObjectStore

LOG = "_spark_metadata"


def adopt(spark: SparkSession, location: str, checkpoint: str) -> None:
    """Let a folder go on without the log of files that it may have."""
    bucket, _, path = location.partition("://")[2].partition("/")
    store = ObjectStore(spark, bucket)
    logs = [*store.keys(f"{path}/{LOG}/")]
    batches = {number: key for key in logs if (number := _number(key)) is not None}
    if not batches:
        return
    named = _files(store, batches)
    objects = [key for key in store.keys(f"{path}/") if key not in logs]
    store.remove(key for key in objects if _is_part(key) and key not in named)
    log = CommitLog(spark, checkpoint)
    pending = log.pending()
    # The folder's log is written before the query's own: a batch in it is done.
    if pending is not None and pending.number <= max(batches):
        log.commit(pending.number)
    store.remove(logs)


def _files(store: ObjectStore, batches: dict[int, str]) -> set[str]:
    numbers = sorted(batches)
    compacted = [number for number in numbers if batches[number].endswith(".compact")]
    wanted = [number for number in numbers if number >= (compacted[-1] if compacted else 0)]
    found: set[str] = set()
    for number in wanted:
        for line in store.read(batches[number]).decode().splitlines()[1:]:
            entry = json.loads(line)
            name = unquote(entry["path"]).partition("://")[2].partition("/")[2]
            raw = entry["path"].partition("://")[2].partition("/")[2]
            if entry.get("action", "add") == "add":
                found |= {name, raw}
    return found


def _number(key: str) -> int | None:
    name = key.rpartition("/")[2].split(".")[0]
    return int(name) if name.isdigit() else None


def _is_part(key: str) -> bool:
    return key.rpartition("/")[2].startswith("part-")
