"""The Spark session of a job as its run reported it, while the job's plan is made again."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.errors import DryRunFailed
from headwater.openlineage.sessions import ANALYSIS, DRIVER_ZONE, EXECUTION, TIME_ZONE
from headwater.trace import catalyst
from headwater.trace.catalyst import Plan
from headwater.trace.values import in_zone, is_time_zone

_ZONE_UNKNOWN = (
    "the plan uses times, and the time zone of the job's session is not known: --time-zone gives it"
)
_NO_ZONE = "the run did not report the time zone of its session"
_DIFFERENT = "the job ran with {} = {}, which is not followed"


class JobSession(NamedTuple):
    """What is known of a job's session: what its run reported, and the time zone if it is given."""

    settings: Mapping[str, str] = {}
    time_zone: str = ""

    @property
    def zone_doubts(self) -> list[str]:
        """Why times may be of other days and hours here than in the job."""
        return [] if self._zone else [_NO_ZONE]

    @property
    def _zone(self) -> str:
        return self.time_zone or self.settings.get(TIME_ZONE, "")

    @property
    def _driver_zone(self) -> str:
        """The zone of times without one in Python: the driver's own."""
        reported = self.settings.get(DRIVER_ZONE, "")
        return self.time_zone or (
            reported if reported[:1].isalpha() and is_time_zone(reported) else ""
        )

    @contextmanager
    def entered(self, spark: SparkSession) -> Iterator[None]:
        """Give a session the settings that decide how a plan is analyzed."""
        wanted = {name: self.settings[name] for name in ANALYSIS if name in self.settings}
        wanted[TIME_ZONE] = self._zone or "UTC"
        before = {name: str(spark.conf.get(name)) for name in wanted}
        is_named = self._driver_zone[:1].isalpha()
        try:
            for name, value in wanted.items():
                _set(spark, name, value)
            with in_zone(self._driver_zone) if is_named else nullcontext():
                yield
        finally:
            for name, value in before.items():
                spark.conf.set(name, value)

    def doubts(self, spark: SparkSession, plan: Plan) -> list[str]:
        """Why the plan may not have given to the job what it gives here."""
        found = [
            _DIFFERENT.format(name, self.settings[name])
            for name in EXECUTION
            if self.settings.get(name, spark.conf.get(name)) != spark.conf.get(name)
        ]
        is_known = bool(self._zone and self._driver_zone)
        return found if is_known or not catalyst.uses_times(plan) else [*found, _ZONE_UNKNOWN]


def _set(spark: SparkSession, name: str, value: str) -> None:
    try:
        spark.conf.set(name, value)
    except PySparkException:
        what = "the reported session of the job"
        raise DryRunFailed(what, f"Spark refuses {name} = {value[:100]}") from None
