"""`headwater run` and `headwater submit`: applications under capture, unchanged."""

import sys
import zipfile
from pathlib import Path

import pytest

from capture.processes import APPS, running
from capture.receiver import Receiver
from headwater.cli.submit import deploy_mode, jvm_application, split_submit
from headwater.errors import UsageError


@pytest.mark.parametrize(
    ("arguments", "options", "application"),
    [
        (["app.py", "--x", "1"], [], ["app.py", "--x", "1"]),
        (
            ["--master", "local[1]", "--conf", "a=b", "app.py"],
            ["--master", "local[1]", "--conf", "a=b"],
            ["app.py"],
        ),
        (
            ["--verbose", "--master=yarn", "app.py", "y"],
            ["--verbose", "--master=yarn"],
            ["app.py", "y"],
        ),
    ],
)
def test_options_of_spark_submit_are_told_from_the_application(
    arguments: list[str], options: list[str], application: list[str]
) -> None:
    assert split_submit(arguments) == (options, application)


@pytest.mark.parametrize(
    ("options", "mode"),
    [
        ([], "client"),
        (["--name", "cluster"], "client"),
        (["--name=cluster", "--queue", "cluster"], "client"),
        (["--name", "--deploy-mode=cluster"], "client"),
        (["--deploy-mode", "cluster"], "cluster"),
        (["--deploy-mode=cluster"], "cluster"),
        (["--conf", "spark.submit.deployMode=cluster"], "cluster"),
        (["-c", "spark.submit.deployMode=cluster", "--deploy-mode", "client"], "client"),
        (["--verbose", "--deploy-mode", "cluster", "--name", "x"], "cluster"),
    ],
)
def test_the_deploy_mode_is_read_from_its_option_alone(options: list[str], mode: str) -> None:
    assert deploy_mode(options) == mode


def test_a_jar_and_its_class_are_read_from_the_options(tmp_path: Path) -> None:
    options = ["--master", "yarn", "--class", "example.Main", "--jars", "a.jar,b.jar"]
    found = jvm_application(options, ["app.jar", "--class", "x"])
    assert (found.main_class, found.arguments) == ("example.Main", ["--class", "x"])
    assert found.options == ["--master", "yarn", "--conf", "spark.jars=app.jar,a.jar,b.jar"]
    server = jvm_application(["--class", "org.apache.spark.Server"], [])
    assert (server.main_class, server.options) == ("org.apache.spark.Server", [])
    jar = tmp_path / "app.jar"
    with zipfile.ZipFile(jar, "w") as archive:
        archive.writestr("META-INF/MANIFEST.MF", "Main-Class: example.\r\n Other\r\n")
    assert jvm_application([], [str(jar)]).main_class == "example.Other"
    with pytest.raises(UsageError):
        jvm_application(["--master", "yarn"], [str(tmp_path / "none.jar")])


@pytest.mark.parametrize("command", ["run", "submit"])
def test_unchanged_application_is_captured(
    tmp_path: Path, receiver: Receiver, command: str
) -> None:
    headwater = (sys.executable, "-m", "headwater.cli.main", command, "--url", receiver.url)
    app = (str(APPS / "batch.py"), "raise")
    with running(tmp_path, receiver.url, *headwater, *app, HEADWATER_RUN="1") as process:
        assert process.exit_code() == 1, process.text()
        assert "ValueError: after the write" in process.text()
    job = f"test_app.execute_insert_into_hadoop_fs_relation_command.{tmp_path.name}_out"
    types = receiver.types(job)
    assert (types[0], types[-1]) == ("START", "COMPLETE")
    assert receiver.types("test_app")[-1] == "FAIL"


@pytest.mark.parametrize(("how", "code", "last"), [("quit", 4, "FAIL"), ("endure", 0, "COMPLETE")])
def test_exit_code_decides_how_the_application_ended(
    tmp_path: Path, receiver: Receiver, how: str, code: int, last: str
) -> None:
    """Whichever way it is told, and not by a `sys.exit` that the application itself catches."""
    headwater = (sys.executable, "-m", "headwater.cli.main", "run", "--url", receiver.url)
    app = (str(APPS / "batch.py"), how)
    with running(tmp_path, receiver.url, *headwater, *app, HEADWATER_RUN="1") as process:
        assert process.exit_code() == code, process.text()
    assert receiver.types("test_app")[-1] == last
