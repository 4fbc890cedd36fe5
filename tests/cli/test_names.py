"""Names as the commands print them: harmless in a terminal, and good to be given back."""

import re
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cli.lab import KAFKA, LAKE, Done, Lab, columns, dataset, event, pipeline, running_lab, step
from cli.lab import uuid as run_id
from headwater.cli.client import Client
from headwater.cli.output import escaped, unescaped
from headwater.cli.resolve import shown_id
from headwater.openlineage.names import NodeId, NodeKind
from stack.platform import eventually

HOSTILE = [
    "red\x1b[31m\x08", "title\x1b]0;owned\x07", "c1\x9b31m\x7f", "cr\rfake", "line\nfake job",
    "tab\there", "rtl\u202eexe\u2067\u2028",
]  # fmt: skip
ODD = [
    "a.b/c", "x 50%", "it's", 'a"\\b', "--help", "a#b?x=1&y", "[b]x[/b]", "job:lab:x",
    "topic:orders", "...", "ünï",
]  # fmt: skip
NAMES = [*HOSTILE, *ODD]


@pytest.fixture(scope="module")
def odd_lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """The usual pipeline, and jobs, datasets and columns of odd names between two topics."""
    with running_lab(tmp_path_factory.mktemp("odd")) as lab:
        lab.tell(*pipeline())
        for number, name in enumerate(NAMES, 100):
            source = dataset(KAFKA, f"from {name}")
            source["facets"] = {"schema": {"fields": [{"name": name, "type": "string"}]}}
            target = dataset(
                LAKE, name, columnLineage=columns(**{
                    name: [step(KAFKA, f"from {name}", name, "DIRECT/IDENTITY", text=name)]
                })
            )  # fmt: skip
            target["facets"]["schema"] = {"fields": [{"name": name, "type": name}]}
            error = {"message": f"{name} failed"}
            lab.tell(event("FAIL", "08:00:00", number, name, inputs=[source], outputs=[target],
                           errorMessage=error))  # fmt: skip
        yield lab


def test_a_node_id_is_looked_up_in_one_request(odd_lab: Lab) -> None:
    """However many colons it has, and whether there is such a node or not."""
    asked: list[httpx.Request] = []
    with Client(odd_lab.url, key=None) as client:
        client._http.event_hooks["request"].append(asked.append)
        for kind, rest, shown in (
            ("dataset", f"{LAKE}:job:lab:x", f"dataset:{LAKE}:job:lab:x"),
            ("datasetField", f"{LAKE}:job:lab:x:a:b", f"datasetField:{LAKE}:job:lab:x:a:b"),
            ("job", "lab:job:lab:x", "job:lab:job:lab:x"),
            ("dataset", "no:such:thing:here", "dataset:no:such:thing:here"),
            ("datasetField", ":".join("abcdefgh"), "datasetField:a:b:c:d:e:f:g:h"),
        ):
            assert shown_id(client, NodeId(NodeKind(kind), rest, None)) == shown
            assert len(asked) == 1, [*map(str, asked)]
            asked.clear()


def ask(lab: Lab, command: str, name: str, *options: str) -> Done:
    """Ask about a name that may look like an option."""
    return lab.ask(command, *options, "--server", lab.url, "--", name)


def everything(lab: Lab) -> Iterator[tuple[str, Done]]:
    """What every command that asks a server prints, in each form that it has."""
    for command in ("runs", "events", "diff"):
        for options in ([], ["--json"]):
            limit = [] if command == "diff" else ["--limit", "1000"]
            since = ["--from", "2026-01-01T00:00:00Z"] if command == "diff" else []
            yield command, lab.ask(command, *limit, *since, *options)
    for options in ([], ["--json"], ["--kind", "column"]):
        yield "search", lab.ask("search", "e", "--limit", "1000", *options)
    for name in NAMES:
        yield "search", ask(lab, "search", name)
        yield "runs", ask(lab, "runs", name)
        for options in ([], ["--columns"], ["--json"]):
            yield "lineage", ask(lab, "lineage", name, *options)
        for options in ([], ["--csv"]):
            yield "impact", ask(lab, "impact", f"from {name}", *options)
        yield "origin", ask(lab, "origin", name)
        yield "lineage", ask(lab, "lineage", f"nothing {name}")


def test_no_control_character_reaches_the_terminal(odd_lab: Lab) -> None:
    count = 0
    for command, done in everything(odd_lab):
        assert done.returncode in (0, 1, 2), done
        for text in (done.stdout, done.stderr):
            count += len(text)
            is_csv = text.startswith("nodeId,")  # which has lines and tabs inside quotes
            bad = {c for c in text if c not in ("\n\t" if is_csv else "\n") and is_control(c)}
            assert not bad, (command, bad, text)
            assert is_csv or not re.search(r"^\W*fake", text, re.MULTILINE), (command, text)
    assert count > 20_000


def is_control(character: str) -> bool:
    kind = unicodedata.category(character)
    return kind in ("Cc", "Zl", "Zp") or unicodedata.bidirectional(character) in (
        "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
    )  # fmt: skip


def printed(lab: Lab) -> Iterator[str]:
    """Every name, node id and run id that the tables and trees of the commands print."""
    for command, column, end in (
        ("runs", "JOB", "STARTED"), ("runs", "RUN", "WHY"), ("events", "JOB", "RUN"),
        ("events", "RUN", "IN"), ("impact", "NODE", "LAST RUN"), ("search", "NODE", ""),
    ):  # fmt: skip
        given = {"search": ["e", "--limit", "1000"], "impact": [f"dataset:{KAFKA}:orders"]}
        args = given.get(command, ["--limit", "1000"])
        head, *rows = lab.ask(command, *args).stdout.splitlines()
        begin, stop = head.index(column), head.index(end) if end else None
        for row in rows:
            yield row[begin:stop].strip()
    for name in [*NAMES, "orders"]:
        for options in ([], ["--columns"]):
            done = ask(lab, "lineage", f"from {name}" if name in NAMES else name, *options)
            for line in done.stdout.splitlines():
                found = re.search(r"(?:job|dataset|column) (.+?)  ", line)
                if found:
                    yield found[1]
            yield from also(done.stderr)


def also(text: str) -> list[str]:
    """The names that a note lists."""
    found = re.search(r" is (.+?); also: (.+?)(?: and \d+ more)?$", text, re.MULTILINE)
    return [found[1], *found[2].split(", ")] if found else []


def test_every_name_that_is_printed_can_be_given_back(odd_lab: Lab) -> None:
    names = {*printed(odd_lab)} - {"-"}
    assert len(names) > 100
    for name in sorted(names):
        done = ask(odd_lab, "lineage", name)
        assert done.returncode == 0, (name, done.stderr)
        assert done.stdout, (name, done.stderr)


def test_escapes_are_read_back() -> None:
    for name in NAMES:
        assert unescaped(escaped(name)) == name


def test_a_short_name_is_settled_and_the_choice_is_shown(lab: Lab) -> None:
    done = lab.ask("impact", "orders.price")
    assert done.returncode == 0
    assert done.stderr == ("orders.price is table:default/orders.price; also: topic:orders.price\n")
    for name in also(done.stderr):
        assert lab.ask("impact", name).stderr == ""
    assert lab.ask("lineage", "default.orders").stdout.startswith("dataset default/orders ")
    assert lab.ask("lineage", "topic:orders").stdout.startswith("dataset orders  kafka://")


def test_a_misspelt_name_is_found_and_suggested(lab: Lab) -> None:
    assert "default/orders" in lab.ask("search", "ordrs").stdout
    assert "iceberg-ingestion" in lab.ask("search", "iceburg").stdout
    done = lab.ask("lineage", "iceburg-ingestion")
    assert done.returncode == 1
    assert "job:lab:iceberg-ingestion" in done.stderr


def test_a_run_id_leads_to_its_job(lab: Lab) -> None:
    done = lab.ask("lineage", run_id(4))
    assert done.stdout.startswith("job supplier_stats.overwrite ")
    assert "is a run of the job supplier_stats.overwrite" in done.stderr


def test_logs_of_the_platform_are_harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "kafka.log").write_text("one\x1b[2J\ntwo\n")
    monkeypatch.setenv("HEADWATER_HOME", str(tmp_path))
    assert Lab("").run("logs", "kafka").stdout == "one\\x1b[2J\ntwo\n"


def test_a_key_with_namespaces_may_ask_for_its_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_lab(tmp_path) as lab:
        lab.tell(event("COMPLETE", "08:00:00", 1, "mine", outputs=[dataset("lab", "out")]))
        store = ("--store", f"sqlite:///{tmp_path / 'lab.db'}")
        made = lab.run("key", "create", "some", "--scope", "read", "--namespace", "lab", *store)
        monkeypatch.setenv("HEADWATER_KEY", made.stdout.strip())
        eventually(lambda: httpx.get(f"{lab.url}/api/v1/namespaces").status_code == 401)
        done = lab.ask("lineage", "job:lab:mine")
        assert done.returncode == 0, done.stderr
        assert "dataset out" in done.stdout
        assert lab.ask("lineage", "mine").stdout == done.stdout
