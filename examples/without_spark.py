"""Lineage of a program without Spark: two events through openlineage-python.

headwater server &
OPENLINEAGE_URL=http://127.0.0.1:5000 python examples/without_spark.py
headwater lineage monthly-report --columns
"""

import uuid
from datetime import UTC, datetime

from openlineage.client import OpenLineageClient
from openlineage.client.event_v2 import InputDataset, Job, OutputDataset, Run, RunEvent, RunState
from openlineage.client.facet_v2 import column_lineage_dataset, schema_dataset

NAMESPACE = "postgres://reports:5432"


def main() -> None:
    """Tell that a report is made, and what its columns come from."""
    client = OpenLineageClient()  # finds the server by OPENLINEAGE_URL
    run, job = Run(str(uuid.uuid4())), Job("examples", "monthly-report")
    orders = InputDataset(NAMESPACE, "public.orders")
    total = column_lineage_dataset.Fields(
        [
            column_lineage_dataset.InputField(
                NAMESPACE,
                orders.name,
                "price",
                [column_lineage_dataset.Transformation("DIRECT", "AGGREGATION", "sum")],
            )
        ]
    )
    report = OutputDataset(
        NAMESPACE,
        "public.monthly_report",
        facets={
            "schema": schema_dataset.SchemaDatasetFacet(
                [schema_dataset.SchemaDatasetFacetFields("total", "decimal(20,2)")]
            ),
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet({"total": total}),
        },
    )
    for state in (RunState.START, RunState.COMPLETE):
        moment = datetime.now(UTC).isoformat()
        client.emit(RunEvent(moment, run, job, "urn:examples", state, [orders], [report]))
    client.close()


if __name__ == "__main__":
    main()
