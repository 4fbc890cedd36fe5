"""Every code block says where it runs, and every command in it is one that exists."""

import re
from pathlib import Path
from typing import Any

import click
import pytest
import typer

from docs.blocks import PAGES, ROOT, blocks, headwater_lines, indented_code, shell_blocks
from docs.shell import open_shell
from headwater.cli.main import app

_TARGET = re.compile(r"^([a-z-]+):", re.MULTILINE)
_MAKE = re.compile(r"(?:^|`)make ([a-z-]+)", re.MULTILINE)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_PLACEHOLDER = re.compile(r"^[A-Z_,.]+$")


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_shell_block_says_where_it_runs(page: Path) -> None:
    assert indented_code(page) == [], "use a fenced block that names its language"
    assert [block.place for block in blocks(page) if not block.language] == []
    shell = [block for block in blocks(page) if block.language in ("sh", "console")]
    assert [block.place for block in shell if not block.is_marked] == []


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_python_blocks_are_python(page: Path) -> None:
    for block in blocks(page):
        if block.language == "python":
            compile(block.text, block.place, "exec")


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=_name)
def test_make_targets_exist(page: Path) -> None:
    targets = set(_TARGET.findall((ROOT / "Makefile").read_text()))
    assert set(_MAKE.findall(page.read_text())) <= targets


@pytest.mark.parametrize(
    ("place", "words"), [pytest.param(*one, id=f"{one[0]} {one[1]}") for one in headwater_lines()]
)
def test_command_line_accepts_every_command(place: str, words: list[str]) -> None:
    parse(typer.main.get_command(app), "headwater", words)


def parse(command: Any, name: str, words: list[str], parent: Any = None) -> None:
    """Let the real command line parse the words, without running anything."""
    if isinstance(command, click.Group) or hasattr(command, "commands"):
        if not words or _PLACEHOLDER.match(words[0]):
            return
        if words[0] in command.commands:
            parse(command.commands[words[0]], words[0], words[1:], parent)
            return
    if words:  # `headwater job run` alone, in running text, names the command
        command.make_context(name, _with_values(words), parent=parent)


def _with_values(words: list[str]) -> list[str]:
    """The words, with a number where a synopsis says that one is meant."""
    return ["1" if word in ("N", "SECONDS") else word for word in words]


# Options of spark-submit, pytest and jobs under spark-submit, and one in an example of a secret.
_FOREIGN = {"--archives", "--conf", "--deploy-mode", "--properties-file", "--renew-lifecycle"} | {
    "--metastore", "--warehouse", "--s3-endpoint", "--job-name", "--password",
}  # fmt: skip


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_options_in_running_text_exist(page: Path) -> None:
    spans = re.findall(r"`([^`\n]+)`", page.read_text())
    named = {option for span in spans for option in _OPTION.findall(span)}
    assert named <= _options(typer.main.get_command(app)) | _FOREIGN


def _options(command: Any) -> set[str]:
    own = {name for parameter in command.params for name in parameter.opts}
    return own.union(*(_options(sub) for sub in getattr(command, "commands", {}).values()))


def test_there_are_blocks_of_every_kind() -> None:
    environments = {block.environment for block in shell_blocks()}
    assert environments >= {"", "lab", "server", "platform"}


def test_shell_notices_a_command_that_fails(tmp_path: Path) -> None:
    with open_shell(tmp_path, {}) as shell:
        assert shell.run("export WORD=kept").code == 0
        assert shell.run('echo "$WORD"; headwater nonsense').code == 2
        assert shell.run('echo "$WORD"').output == "kept"


_ODD = re.compile(
    r"\b(?:(?:is|are|was|were) told|tells? of|lets? go of|goes? on|who comes|whoever|nobody"
    r"|tak(?:e|es|en) along|as (?:it|they) came|heard (?:of|from)|parted by|for ever|anew)\b",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "page",
    [
        *PAGES,
        *(ROOT / "docs" / "reference").glob("*.md"),
        *(ROOT / "src" / "headwater" / "errors").glob("*.py"),
    ],
    ids=_name,
)
def test_texts_use_the_words_of_the_field(page: Path) -> None:
    lines = enumerate(page.read_text().splitlines(), 1)
    assert [f"{number}: {line}" for number, line in lines if _ODD.search(line)] == []
