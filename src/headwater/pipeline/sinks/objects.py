"""Objects named by topic, partition and first offset, so that a repeated batch replaces its own.

Spark writes a batch into a staging folder, one file for each cut of a partition's offsets and each
folder that the partitioner names. The driver then copies these to their final names, within the
object store. A batch that is repeated makes the same names. What an earlier attempt, or an earlier
pass over the same offsets, left under other names is removed as the stream passes it.
"""

import re
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import boto3
import msgspec
from botocore.config import Config
from botocore.exceptions import ClientError
from pyspark.sql import SparkSession

from headwater.errors import ObjectUnnamed

CUT = "_headwater_cut"
_STAGED = re.compile(rf"{CUT}=(\d+)-(\d+)/(?:(.*)/)?[^/]*[-.]c\d+(\.[^/]+)$")
_OBJECT = re.compile(r"(?:^|/)([^/]+)\+(\d+)\+(\d+)\.[^/]+$")
_COPIES = 8
_DELETED_AT_ONCE = 1000
# What S3 answers when one request cannot copy an object, as it has more than 5 GB.
_TOO_LARGE = ("InvalidRequest", "EntityTooLarge")


class Stored(msgspec.Struct, frozen=True):
    """An object of a topic: its key, its partition and the offset that it begins with."""

    key: str
    partition: int
    first: int


class ObjectStore:
    """A bucket, through the credentials and the address that Spark's own file system has."""

    def __init__(self, spark: SparkSession, bucket: str) -> None:
        self.bucket = bucket
        self._client: Any = boto3.session.Session().client("s3", **_settings(spark, bucket))

    def keys(self, prefix: str) -> Iterator[str]:
        """The keys that begin with a prefix."""
        pages = self._client.get_paginator("list_objects_v2")
        for page in pages.paginate(Bucket=self.bucket, Prefix=prefix):
            yield from (one["Key"] for one in page.get("Contents", ()))

    def read(self, key: str) -> bytes:
        """An object's content."""
        return bytes(self._client.get_object(Bucket=self.bucket, Key=key)["Body"].read())

    def tagged(self, key: str) -> tuple[bytes, str] | None:
        """An object's content and its entity tag; none if it is not there."""
        try:
            found = self._client.get_object(Bucket=self.bucket, Key=key)
        except self._client.exceptions.NoSuchKey:
            return None
        return bytes(found["Body"].read()), str(found["ETag"])

    def put_if(self, key: str, body: bytes, tag: str | None) -> str:
        """Write an object if it still has a tag, or is not there; its new tag."""
        condition = {"IfNoneMatch": "*"} if tag is None else {"IfMatch": tag}
        put = self._client.put_object(Bucket=self.bucket, Key=key, Body=body, **condition)
        return str(put["ETag"])

    def copy(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Copy objects to other keys, replacing what is there."""
        with ThreadPoolExecutor(_COPIES, thread_name_prefix="copy") as pool:
            for done in [pool.submit(self._copy, *pair) for pair in pairs]:
                done.result()

    def remove(self, keys: Iterable[str]) -> None:
        """Remove objects."""
        left = [*keys]
        for start in range(0, len(left), _DELETED_AT_ONCE):
            some = [{"Key": key} for key in left[start : start + _DELETED_AT_ONCE]]
            self._client.delete_objects(Bucket=self.bucket, Delete={"Objects": some, "Quiet": True})

    def _copy(self, source: str, target: str) -> None:
        place = {"Bucket": self.bucket, "Key": source}
        try:
            self._client.copy_object(Bucket=self.bucket, Key=target, CopySource=place)
        except ClientError as error:
            if error.response["Error"]["Code"] not in _TOO_LARGE:
                raise
            self._client.copy(place, self.bucket, target)  # in parts


class TopicObjects:
    """The objects of one topic in its folder."""

    def __init__(self, store: ObjectStore, location: str, topic: str) -> None:
        self.store, self._topic = store, topic
        self._prefix = location.partition("://")[2].partition("/")[2] + "/"

    def all(self) -> Iterator[Stored]:
        """Every object that is named by its offsets."""
        for key in self.store.keys(self._prefix):
            match = _OBJECT.search(key)
            if match and match[1] == self._topic:
                yield Stored(key, int(match[2]), int(match[3]))

    def from_offsets(self, offsets: dict[int, int]) -> list[Stored]:
        """The objects that begin at or after an offset; partitions not named count from zero."""
        return [one for one in self.all() if one.first >= offsets.get(one.partition, 0)]

    def aligned(self, offsets: dict[int, int], now: dict[int, int]) -> dict[int, int]:
        """Offsets moved back to where the object begins that they point into.

        Beyond the offset where the task is now there are objects only if it was moved back
        before, and has not replaced them yet.
        """
        firsts: dict[int, list[int]] = {}
        for one in self.all():
            firsts.setdefault(one.partition, []).append(one.first)

        def begin(number: int, offset: int) -> int:
            here = now.get(number, 0)
            least = 0 if offset < here else here
            inside = (first for first in firsts.get(number, ()) if least <= first <= offset)
            return max(inside, default=offset)

        return {number: begin(number, offset) for number, offset in offsets.items()}

    def publish(self, staging: str) -> tuple[set[str], list[str]]:
        """Give staged files their final names; the keys that were written, and those to remove."""
        staged = [*self.store.keys(staging)]
        pairs = [
            (key, self._final(key.removeprefix(staging))) for key in staged if not _is_hidden(key)
        ]
        self.store.copy(pairs)
        return {name for _, name in pairs}, staged

    def _final(self, staged: str) -> str:
        match = _STAGED.search(staged)
        if match is None:  # to pass over it would lose its records
            raise ObjectUnnamed(staged)
        folders = f"{match[3]}/" if match[3] else ""
        name = f"{self._topic}+{match[1]}+{int(match[2]):010d}{match[4]}"
        return f"{self._prefix}{folders}{name}"


def _is_hidden(key: str) -> bool:
    """Whether a key is a folder's, or that of a committer, and has no records."""
    return key.rpartition("/")[2][:1] in ("", "_", ".")


def _settings(spark: SparkSession, bucket: str) -> dict[str, Any]:
    """What boto3 needs to reach the bucket that S3A reaches."""
    hadoop: Any = spark._jsc.hadoopConfiguration()

    def get(name: str) -> str | None:
        value = hadoop.get(f"fs.s3a.bucket.{bucket}.{name}") or hadoop.get(f"fs.s3a.{name}")
        return str(value) if value else None

    endpoint, ssl = get("endpoint"), get("connection.ssl.enabled") != "false"
    if endpoint and "://" not in endpoint:
        endpoint = f"{'https' if ssl else 'http'}://{endpoint}"
    style = "path" if get("path.style.access") == "true" else "auto"
    config = Config(
        s3={"addressing_style": style},
        max_pool_connections=2 * _COPIES,
        retries={"mode": "standard", "max_attempts": 5},
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
    )
    return {
        "endpoint_url": endpoint,
        "region_name": get("endpoint.region"),
        "aws_access_key_id": get("access.key"),
        "aws_secret_access_key": get("secret.key"),
        "aws_session_token": get("session.token"),
        "config": config,
    }
