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
    run, job = Run(runId=str(uuid.uuid4())), Job(namespace="examples", name="monthly-report")
    orders = InputDataset(namespace=NAMESPACE, name="public.orders")
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
        namespace=NAMESPACE,
        name="public.monthly_report",
        facets={
            "schema": schema_dataset.SchemaDatasetFacet(
                [schema_dataset.SchemaDatasetFacetFields("total", "decimal(20,2)")]
            ),
            "columnLineage": column_lineage_dataset.ColumnLineageDatasetFacet({"total": total}),
        },
    )
    for state in (RunState.START, RunState.COMPLETE):
        event = RunEvent(
            eventTime=datetime.now(UTC).isoformat(),
            run=run,
            job=job,
            producer="urn:examples",
            eventType=state,
            inputs=[orders],
            outputs=[report],
        )
        client.emit(event)
    client.close()


if __name__ == "__main__":
    main()
