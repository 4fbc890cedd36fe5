"""The jar cache, filled from a repository in a folder."""

import threading
from pathlib import Path

import pytest

from headwater.errors import ChecksumMismatch, DiskFull, FetchFailed
from headwater.stack import lock
from headwater.stack.fetch import JarCache
from headwater.stack.files import disk_faults_are_told, require_room
from headwater.stack.java import java_home
from headwater.stack.lock import Jar, sha256
from headwater.stack.settings import Settings

SETTINGS = """\
<ivysettings>
  <settings defaultResolver="folder"/>
  <resolvers>
    <ibiblio name="folder" m2compatible="true" usepoms="false" useMavenMetadata="false"
             root="{root}"/>
  </resolvers>
</ivysettings>
"""


class Repository:
    """A Maven repository of small files, and a cache that is filled from it."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder / "repository"
        self.java = java_home(settings) / "bin" / "java"
        self.ivy_settings = folder / "ivysettings.xml"
        self.ivy_settings.write_text(SETTINGS.format(root=self.folder.as_uri()))
        self.root = folder / "cache"

    def cache(self) -> JarCache:
        return JarCache(self.root, ivy_settings=self.ivy_settings)

    def publish(self, name: str, content: str, *, classifier: str = "", kind: str = "jar") -> Jar:
        jar = Jar("org.example", name, "1.0", "", len(content), classifier, kind)
        path = self.path(jar)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return Jar("org.example", name, "1.0", sha256(path), len(content), classifier, kind)

    def path(self, jar: Jar) -> Path:
        return self.folder / "org/example" / jar.artifact / jar.version / jar.file_name


@pytest.fixture
def repository(tmp_path: Path, settings: Settings) -> Repository:
    return Repository(tmp_path, settings)


def test_what_is_missing_is_fetched_and_verified(repository: Repository) -> None:
    jars = [
        repository.publish("plain", "a"),
        repository.publish("tool", "bb", classifier="all"),
        repository.publish("archive", "ccc", classifier="bin", kind="tar.gz"),
    ]
    cache = repository.cache()
    assert cache.missing(jars) == jars
    assert cache.ensure(jars, repository.java) == []
    assert [cache.path(jar).read_text() for jar in jars] == ["a", "bb", "ccc"]
    assert cache.missing(jars, verify=True) == []


def test_what_is_here_is_not_fetched_again(repository: Repository) -> None:
    first, second = repository.publish("first", "1"), repository.publish("second", "2")
    repository.cache().ensure([first], repository.java)
    repository.path(first).unlink()
    repository.cache().ensure([first, second], repository.java)
    assert repository.cache().missing([first, second]) == []


def test_a_half_written_jar_is_named_and_fetched_again(repository: Repository) -> None:
    jar = repository.publish("halved", "0123456789")
    repository.cache().ensure([jar], repository.java)
    repository.cache().path(jar).write_text("01234")
    assert repository.cache().ensure([jar], repository.java) == ["halved-1.0.jar"]
    assert repository.cache().path(jar).read_text() == "0123456789"


def test_a_jar_of_the_right_size_and_wrong_content_is_found_when_verified(
    repository: Repository,
) -> None:
    jar = repository.publish("swapped", "0123456789")
    repository.cache().ensure([jar], repository.java)
    repository.cache().path(jar).write_text("9876543210")
    assert repository.cache().ensure([jar], repository.java, verify=True) == ["swapped-1.0.jar"]
    assert repository.cache().path(jar).read_text() == "0123456789"


def test_a_wrong_checksum_names_the_file_and_keeps_it_out(repository: Repository) -> None:
    good, jar = repository.publish("good", "1"), repository.publish("forged", "good")
    repository.path(jar).write_text("evil")
    with pytest.raises(ChecksumMismatch, match="forged-1"):
        repository.cache().ensure([good, jar], repository.java)
    assert repository.cache().missing([good, jar]) == [jar]


def test_a_jar_that_nobody_has_is_named_and_the_others_are_kept(repository: Repository) -> None:
    here, gone = repository.publish("here", "1"), repository.publish("gone", "2")
    repository.path(gone).unlink()
    with pytest.raises(FetchFailed, match="gone-1"):
        repository.cache().ensure([here, gone], repository.java)
    assert repository.cache().missing([here, gone]) == [gone]


def test_two_that_fetch_at_once_get_the_same_files(repository: Repository) -> None:
    jars = [repository.publish(f"shared{n}", str(n)) for n in range(5)]
    failures: list[BaseException] = []

    def fetch() -> None:
        try:
            repository.cache().ensure(jars, repository.java)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=fetch) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert repository.cache().missing(jars, verify=True) == []


def test_no_room_is_told_before_anything_is_fetched(tmp_path: Path) -> None:
    with pytest.raises(DiskFull, match="MB are needed"):
        require_room(tmp_path, 2**60)


def test_a_disk_that_fills_up_is_told(tmp_path: Path) -> None:
    with pytest.raises(DiskFull), disk_faults_are_told(tmp_path):
        Path("/dev/full").write_text("x")


def test_the_lock_names_each_file_once_in_a_set() -> None:
    for name, jars in lock.load().sets.items():
        assert len({jar.relative_path for jar in jars}) == len(jars), name
        assert all(len(jar.sha256) == 64 and jar.size > 0 for jar in jars)
