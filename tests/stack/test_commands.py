"""The commands around a platform: what they print, and what they refuse."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from headwater.cli.main import app
from headwater.stack import lock
from headwater.stack.catalog import SERVICES
from stack.platform import Platform

ROOT = Path(__file__).parents[2]


@pytest.fixture
def idle(tmp_path: Path) -> Platform:
    """A state folder in which nothing runs."""
    return Platform(tmp_path / "home")


def test_env_is_read_by_a_shell(platform: Platform) -> None:
    exports = platform.run("env").stdout
    script = f'{exports}\nprintf %s "$KAFKA_BOOTSTRAP_SERVERS $AWS_ENDPOINT_URL"'
    printed = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)
    variables = platform.variables()
    expected = f"{variables['KAFKA_BOOTSTRAP_SERVERS']} {variables['AWS_ENDPOINT_URL']}"
    assert printed.stdout == expected


def test_env_for_spark_is_a_properties_file(platform: Platform) -> None:
    lines = platform.run("env", "--spark").stdout.splitlines()
    conf = dict(line.split(" ", 1) for line in lines)
    assert conf == platform.spark()
    assert all(Path(jar).is_file() for jar in conf["spark.jars"].split(","))


def test_logs_show_the_end_of_a_service_log(platform: Platform) -> None:
    lines = platform.run("logs", "kafka", "-n", "3").stdout.splitlines()
    assert len(lines) == 3


def test_status_is_a_table_or_json_on_stdout(platform: Platform) -> None:
    table = platform.run("status").stdout
    assert all(name in table for name in SERVICES.keys() - {"worker"})  # nobody asked for one
    told = json.loads(platform.run("status", "--json").stdout)
    assert {one["name"]: one["pid"] for one in told["services"]} == {
        one["name"]: one["pid"] for one in platform.status()["services"]
    }


@pytest.mark.parametrize("command", ["status", "env"])
def test_without_a_platform_it_is_said_how_to_start_one(idle: Platform, command: str) -> None:
    done = idle.run(command)
    assert (done.returncode, done.stdout) == (1, "")
    assert "headwater up" in done.stderr
    assert not idle.home.exists()


def test_down_without_a_platform_is_no_error(idle: Platform) -> None:
    assert idle.run("down", "--purge").returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [["up", "--only", "zookeeper"], ["up", "--with", "flink"], ["fetch", "--only", "nothing"]],
)
def test_an_unknown_service_is_a_usage_error(idle: Platform, arguments: list[str]) -> None:
    done = idle.run(*arguments)
    assert done.returncode == 2
    assert "kafka" in done.stderr


def test_a_state_folder_that_cannot_be_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = Platform(tmp_path / "file" / "home").run("up", "--only", "s3")
    assert done.returncode == 2
    assert "HEADWATER_HOME" in done.stderr


def test_logs_of_an_unknown_service_is_a_usage_error(idle: Platform) -> None:
    assert idle.run("logs", "zookeeper").returncode == 2


def test_doctor_finds_nothing_missing_here(idle: Platform) -> None:
    done = idle.run("doctor", "--json")
    assert done.returncode == 0
    levels = {finding["check"]: finding["level"] for finding in json.loads(done.stdout)}
    assert levels["java"] == levels["pyspark"] == levels["home"] == "ok"


def test_every_service_option_and_variable_is_documented(idle: Platform) -> None:
    text = (ROOT / "docs/stack.md").read_text()
    for service in SERVICES.values():
        assert re.search(rf"`{service.name}` \|.*\| {service.port} \|", text), service.name
    used = "\n".join(path.read_text() for path in (ROOT / "src/headwater/stack").glob("*.py"))
    for variable in set(re.findall(r'"(HEADWATER_\w+)"', used)):
        assert f"`{variable}`" in text, variable


@pytest.mark.parametrize(
    ("name", "artifact", "image"),
    [
        ("kafka", "kafka_2.13", "apache/kafka:{}"),
        ("registry", "apicurio-registry-app", "apicurio/apicurio-registry:{}"),
        ("s3", "s3proxy", "andrewgaul/s3proxy:s3proxy-{}"),
        ("metastore", "hive-standalone-metastore", "apache/hive:{}"),
        ("spark", "spark-sql-kafka-0-10_2.13", "apache/spark:{}-"),
    ],
)
def test_compose_has_the_versions_of_the_lock(name: str, artifact: str, image: str) -> None:
    (jar,) = [jar for jar in lock.load().sets[name] if jar.artifact == artifact]
    assert image.format(jar.version) in (ROOT / "compose.yaml").read_text()


def commands_with(option: str) -> list[list[str]]:
    """Every command that takes an option, by its words."""
    found: list[list[str]] = []
    todo: list[tuple[list[str], Any]] = [([], get_command(app))]
    while todo:
        words, command = todo.pop()
        for name, child in getattr(command, "commands", {}).items():
            todo.append(([*words, name], child))
        if any(option in parameter.opts for parameter in command.params):
            found.append(words)
    return sorted(found)


ARGUMENTS = {
    "export": ["events.jsonl"],
    "import": ["no-such-file.jsonl"],
    "search": ["nothing"],
    "watch": ["nothing"],
    **{command: ["nothing"] for command in ("lineage", "impact", "origin")},
}


def test_every_command_finds_the_platform_that_is_up(platform: Platform, tmp_path: Path) -> None:
    """Its ports are not the usual ones, and nothing is exported but HEADWATER_HOME."""
    quiet = Platform(platform.home, **dict.fromkeys(platform.variables(), ""))
    quiet.environ["HEADWATER_HOME"] = str(platform.home)
    asked = commands_with("--server")
    assert len(asked) > 8
    for words in asked:
        done = quiet.run(*words, *ARGUMENTS.get(words[0], []), cwd=tmp_path)
        told = done.stderr.replace("\n", " ")
        assert "no lineage server answers" not in told, (words, told)
        assert "Traceback" not in told, (words, told)
    keys = quiet.run("key", "list", cwd=tmp_path)
    assert keys.returncode == 0
    assert not (tmp_path / "headwater.db").exists()
