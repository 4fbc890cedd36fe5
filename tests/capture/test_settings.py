"""Where settings come from, and that each one is documented."""

import json
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.generated import (
    column_lineage_dataset,
    dataset_version_dataset,
    error_message_run,
    job_type_job,
    output_statistics_output_dataset,
    parent_run,
    processing_engine_run,
    schema_dataset,
    symlinks_dataset,
)

from headwater.capture.facets import SCHEMAS, own_facet
from headwater.capture.settings import Settings, read_settings
from headwater.errors import BadSetting

DOCS = Path(__file__).parents[2] / "docs"


def test_arguments_win_over_conf_and_conf_over_environment() -> None:
    environ = {"OPENLINEAGE_NAMESPACE": "env", "HEADWATER_LEASE_SECONDS": "7", "HOME": "/"}
    conf = {"spark.headwater.namespace": "conf", "spark.headwater.heartbeatSeconds": "2"}
    found = read_settings({"namespace": "argument", "url": None}, conf, environ)
    assert (found.namespace, found.heartbeat_seconds, found.lease_seconds) == ("argument", 2, 7)
    assert read_settings({}, conf, environ).namespace == "conf"
    assert read_settings({}, {}, environ).namespace == "env"


def test_parent_run_comes_from_openlineage() -> None:
    run = "0197f0c0-0000-7000-8000-000000000001"
    found = read_settings({}, {}, {"OPENLINEAGE_PARENT_ID": f"ns/dag.task/{run}"})
    assert (found.parent_job, found.parent_run_id) == ("ns/dag.task", run)


@pytest.mark.parametrize(
    ("arguments", "conf"),
    [({"heartbeat_seconds": "soon"}, {}), ({}, {"spark.headwater.hartbeat": "1"})],
)
def test_unusable_settings_are_refused(arguments: dict[str, str], conf: dict[str, str]) -> None:
    with pytest.raises(BadSetting):
        read_settings(arguments, conf, {})


def test_every_setting_is_documented() -> None:
    text = (DOCS / "capture.md").read_text()
    for name in Settings.__struct_fields__:
        assert f"`{name}`" in text, name


def test_schema_addresses_are_those_of_openlineage() -> None:
    classes: list[Any] = [
        column_lineage_dataset.ColumnLineageDatasetFacet,
        dataset_version_dataset.DatasetVersionDatasetFacet,
        error_message_run.ErrorMessageRunFacet,
        job_type_job.JobTypeJobFacet,
        output_statistics_output_dataset.OutputStatisticsOutputDatasetFacet,
        parent_run.ParentRunFacet,
        processing_engine_run.ProcessingEngineRunFacet,
        schema_dataset.SchemaDatasetFacet,
        symlinks_dataset.SymlinksDatasetFacet,
    ]
    assert {c.__name__: c._get_schema() for c in classes} == SCHEMAS


@pytest.mark.parametrize("name", ["progress", "capture", "query"])
def test_own_facets_have_a_schema(name: str) -> None:
    schema = json.loads((DOCS / "facets" / f"headwater_{name}.json").read_text())
    assert schema["$id"] == own_facet(name)["_schemaURL"]
