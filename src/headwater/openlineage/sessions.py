"""The run facet `headwater_session`: the settings that decide what a Spark query returns."""

from msgspec import Struct

TIME_ZONE = "spark.sql.session.timeZone"
DRIVER_ZONE = "user.timezone"  # Java's name for the time zone of the driver
# Spark reads these when it analyzes a query.
ANALYSIS = (
    TIME_ZONE,
    "spark.sql.ansi.enabled",
    "spark.sql.caseSensitive",
    "spark.sql.decimalOperations.allowPrecisionLoss",
)
# Spark reads these while a query runs.
EXECUTION = ("spark.sql.legacy.timeParserPolicy", "spark.sql.mapKeyDedupPolicy")
REPORTED = (*ANALYSIS, *EXECUTION)
SESSION = "headwater_session"


class SessionFacet(Struct):
    """Settings when capture began, and those that the application had changed by the run."""

    settings: dict[str, str] = {}
    changed: list[str] = []

    def constant(self) -> dict[str, str]:
        """The settings that were the same since the application began."""
        known = (*REPORTED, DRIVER_ZONE)
        return {
            name: self.settings[name]
            for name in known
            if name in self.settings and name not in self.changed
        }
