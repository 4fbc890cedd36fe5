"""Ports: the well-known ones when free, others when not, and never another's."""

import socket
from collections.abc import Iterator

import pytest

from headwater.errors import PortInUse
from headwater.stack import ports
from headwater.stack.ports import HOST, PortWish
from ports import free_port


@pytest.fixture
def busy() -> Iterator[int]:
    with socket.socket() as listener:
        listener.bind((HOST, 0))
        listener.listen()
        yield int(listener.getsockname()[1])


@pytest.fixture
def free() -> int:
    return free_port()


def test_the_well_known_port_is_taken_when_free(free: int) -> None:
    assert ports.choose({"kafka": PortWish("kafka", default=free)}) == {"kafka": free}


def test_another_is_taken_when_it_is_not(busy: int) -> None:
    chosen = ports.choose({"kafka": PortWish("kafka", default=busy)})
    assert chosen["kafka"] != busy
    assert ports.is_free(chosen["kafka"])


def test_the_last_port_outlives_a_restart(free: int, busy: int) -> None:
    wish = PortWish("kafka", default=9, last=free)
    assert ports.choose({"kafka": wish}) == {"kafka": free}


def test_a_port_that_was_asked_for_is_used_or_refused(free: int, busy: int) -> None:
    assert ports.choose({"s3": PortWish("s3", default=9, asked=free)}) == {"s3": free}
    with pytest.raises(PortInUse, match=f"s3 needs port {busy}") as refused:
        ports.choose({"s3": PortWish("s3", default=9, asked=busy)})
    assert "--s3-port" in refused.value.hint


def test_two_services_never_get_one_port(free: int) -> None:
    wishes = {name: PortWish(name, default=free) for name in ("a", "b")}
    assert len(set(ports.choose(wishes).values())) == 2
