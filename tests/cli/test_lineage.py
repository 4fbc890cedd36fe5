"""`headwater lineage`: trees of jobs and datasets, trees of columns, names."""

import pytest

from cli.lab import LAKE, Lab, dataset, event

TOPIC = "dataset:kafka://broker:9092:orders"
STREAM, BATCH = " · by iceberg-ingestion", " · by supplier_stats.overwrite"
UNDER = " · under supplier_stats"


def test_a_dataset_shows_what_it_comes_from_and_what_it_feeds(lab: Lab) -> None:
    done = lab.ask("lineage", TOPIC)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "dataset orders  kafka://broker:9092 · 3 columns",
        "├── upstream",
        "│   └── job orders-source  ● running · stream · lab",
        "└── downstream",
        "    └── job iceberg-ingestion  ● running · stream · lab",
        "        └── dataset default/orders  s3://warehouse · 3 columns",
        "            ├── job orders-check  ✕ failed · batch · lab",
        f"            └── job supplier_stats.overwrite  ✓ completed · batch · lab{UNDER}",
        "                └── dataset default/supplier_stats  s3://warehouse · 2 columns",
    ]


def test_one_direction_and_a_depth_that_counts_jobs(lab: Lab) -> None:
    done = lab.ask("lineage", "orders-source", "--downstream", "--depth", "1")
    assert done.stdout.splitlines() == [
        "job orders-source  ● running · stream · lab",
        "└── downstream",
        "    └── dataset orders  kafka://broker:9092 · 3 columns",
        "        └── job iceberg-ingestion  ● running · stream · lab",
        "            └── dataset default/orders  s3://warehouse · 3 columns",
        "                └── … 2 more beyond --depth 1",
    ]


def test_a_cycle_is_shown_once(lab: Lab) -> None:
    done = lab.ask("lineage", "there", "--upstream")
    assert done.stdout.splitlines() == [
        "dataset there  loop",
        "└── upstream",
        "    └── job going  ✓ completed · batch · lab",
        "        └── dataset back  loop",
        "            └── job coming  ✓ completed · batch · lab",
        "                └── dataset there  loop  …seen above",
    ]


def test_a_column_shows_what_happens_at_each_step(lab: Lab) -> None:
    done = lab.ask("lineage", "datasetField:s3://warehouse:default/supplier_stats:revenue")
    assert done.stdout.splitlines() == [
        "column default/supplier_stats.revenue  s3://warehouse · decimal(20,2)",
        "├── upstream",
        f"│   ├── column default/orders.price  {LAKE} · decimal(10,2)  Σ aggregation{BATCH}",
        f"│   │   └── column orders.price  kafka://broker:9092  ƒ transformation{STREAM}",
        f"│   └── column default/orders.supplier  s3://warehouse · string  ⇢ group by{BATCH}",
        f"│       └── column orders.supplier  kafka://broker:9092  = identity{STREAM}",
        "└── downstream",
        "    └── nothing known",
    ]


def test_formulas_are_shown_on_demand(lab: Lab) -> None:
    node = "datasetField:s3://warehouse:default/orders:price"
    lines = lab.ask("lineage", node, "--upstream", "--formulas").stdout.splitlines()
    assert lines[2].endswith(f"ƒ transformation: price = cast{STREAM}")
    told = lab.ask("origin", "datasetField:s3://warehouse:default/supplier_stats:revenue")
    assert "FORMULA" not in told.stdout
    found = lab.ask("impact", f"datasetField:{TOPIC.removeprefix('dataset:')}:price", "--formulas")
    (head, *rows) = found.stdout.splitlines()
    assert head.split()[-1] == "FORMULA"
    assert [row.split()[-1] for row in rows if node in row] == ["cast"]
    told = lab.json("impact", f"datasetField:{TOPIC.removeprefix('dataset:')}:price", "--formulas")
    assert [i["formulas"] for i in told["items"] if i["nodeId"] == node] == [["cast"]]


def test_the_columns_of_a_dataset_each_have_a_tree(lab: Lab) -> None:
    done = lab.ask("lineage", TOPIC, "--columns", "--downstream")
    roots = [line for line in done.stdout.splitlines() if line.startswith("column ")]
    assert [root.split()[1] for root in roots] == ["orders.id", "orders.price", "orders.supplier"]
    assert "column default/supplier_stats.revenue" in done.stdout


def test_the_columns_of_a_job_are_those_it_writes(lab: Lab) -> None:
    told = lab.json("lineage", "job:lab:supplier_stats.overwrite", "--columns", "--upstream")
    stats = "datasetField:s3://warehouse:default/supplier_stats"
    assert told["start"] == [f"{stats}:revenue", f"{stats}:supplier"]
    assert "downstream" not in told
    assert f"datasetField:{TOPIC.removeprefix('dataset:')}:price" in told["upstream"]


def test_json_has_ids_by_direction_and_nodes_as_the_server_told_them(lab: Lab) -> None:
    told = lab.json("lineage", TOPIC, "--depth", "1")
    assert told["start"] == [TOPIC]
    assert told["upstream"] == ["job:lab:orders-source"]
    assert told["downstream"] == [
        "dataset:s3://warehouse:default/orders",
        "job:lab:iceberg-ingestion",
    ]
    nodes = {node["id"]: node for node in told["graph"]}
    assert nodes.keys() == {TOPIC, *told["upstream"], *told["downstream"]}
    assert nodes["job:lab:orders-source"]["data"]["latestRun"]["state"] == "RUNNING"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("ingestion", "job iceberg-ingestion "),
        ("supplier_stats", "job supplier_stats "),
        ("dataset:supplier_stats", "dataset default/supplier_stats "),
        ("revenue", "column default/supplier_stats.revenue "),
        ("default/orders.price", "column default/orders.price "),
        ("dataset:hive://meta:9083:default.orders", "dataset default/orders "),
        ("datasetField:hive://meta:9083:default.orders:id", "column default/orders.id "),
    ],
)
def test_a_name_or_a_part_or_an_alias_is_enough(lab: Lab, given: str, shown: str) -> None:
    done = lab.ask("lineage", given)
    assert done.stdout.startswith(shown), done.stderr


def test_a_name_that_fits_several_lists_them_and_is_a_usage_error(lab: Lab) -> None:
    done = lab.ask("lineage", "pric")
    assert (done.returncode, done.stdout) == (2, "")
    what, hint, *candidates = done.stderr.splitlines()
    assert what == "error: 'pric' matches 2 names"
    assert "one of these" in hint
    assert sorted(line.strip() for line in candidates) == [
        "table:default/orders.price",
        "topic:orders.price",
    ]


def test_an_unknown_name_and_an_unknown_node_fail(lab: Lab) -> None:
    done = lab.ask("lineage", "nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("error: no job, dataset or column has 'nowhere' in its name\n")
    done = lab.ask("lineage", "dataset:lab:nowhere")
    assert (done.returncode, done.stdout) == (1, "")
    assert "answered 404: Dataset 'nowhere' not found." in done.stderr


def test_names_are_written_as_they_are(spare_lab: Lab) -> None:
    odd = "a [bold]b[/bold]: 50% of / :smile: " + "x" * 200
    spare_lab.tell(event("COMPLETE", "08:00:00", 33, odd, outputs=[dataset("file", "out")]))
    done = spare_lab.ask("lineage", "out")
    assert f"    └── job {odd}  ✓ completed · batch · lab" in done.stdout.replace("│", " ")
    assert odd in spare_lab.ask("runs", f"job:lab:{odd}").stdout
    assert odd in spare_lab.ask("lineage", f"job:lab:{odd}", "--columns").stderr
