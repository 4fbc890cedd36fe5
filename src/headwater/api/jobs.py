"""Jobs and their versions."""

from datetime import datetime

from headwater.api.base import Answer, Facets, Name, VersionedName
from headwater.api.runs import Run


class Job(Answer):
    """A job with everything known of it."""

    id: Name
    type: str
    name: str
    simple_name: str
    parent_job_name: str | None
    parent_job_uuid: str | None
    created_at: datetime
    updated_at: datetime
    namespace: str
    inputs: list[Name]
    outputs: list[Name]
    location: str | None
    description: str | None
    latest_run: Run | None
    latest_runs: list[Run] | None
    facets: Facets
    current_version: str | None
    labels: list[str]
    tags: list[str]


class JobPage(Answer):
    """Jobs, and how many there are."""

    total_count: int
    jobs: list[Job]


class JobVersion(Answer):
    """What a job read and wrote in some of its runs."""

    id: VersionedName
    name: str
    created_at: datetime
    version: str
    namespace: str
    location: str | None
    inputs: list[Name]
    outputs: list[Name]
    latest_run: Run | None


class JobVersionPage(Answer):
    """Versions of a job, latest first."""

    versions: list[JobVersion]
