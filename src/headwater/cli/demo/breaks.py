"""Breaks a running demo in ways that happen, and mends it again."""

from collections.abc import Callable, Mapping
from contextlib import suppress

from msgspec import Struct

from headwater.cli.connect import Connect
from headwater.cli.demo.labs import connector
from headwater.errors import UsageError, WorkerRefused
from headwater.stack.state import State

_POISON = b"no order at all"
# Some orders have none: a field that is always there would not go with the topic's schema.
_NEW_FIELD = {
    "genv.orders.currency.with": "#{regexify '(EUR|USD|CHF)'}",
    "attrv.orders.currency.null.rate": "0.1",
}
_GENERATORS = ("orders-source", "multi-topic-source")
_WAIT_S = 30


class Break(Struct, frozen=True):
    """One way to break the demo: what it does, what then happens, and how it is done."""

    about: str
    then: str
    do: Callable[[State, str], str]


def stop(state: State, name: str) -> str:
    """Stop one connector or job."""
    worker = _worker(state)
    chosen = name or ("supplier-stats" if "supplier-stats" in worker.statuses() else "")
    if not chosen:
        raise UsageError("no job was named", hint="See `headwater connector list`")
    worker.set_target_state(chosen, "stop")
    return f"{chosen} is stopped; `headwater connector resume {chosen}` resumes it"


def schema(state: State, _name: str) -> str:
    """Give every order one more field."""
    worker = _worker(state)
    source = _source(worker)
    worker.change(source, _NEW_FIELD)
    return f"{source} now generates orders with a currency"


def worker_killed(state: State, _name: str) -> str:
    """Kill the worker as a power cut would."""
    import psutil

    pid = state.services["worker"].pid
    process = pid.process() if pid else None
    if process is None:
        raise UsageError("the worker is not running now", hint="Check `headwater status`")
    # Its JVM first: it would otherwise notice, and end in good order.
    for one in (*process.children(recursive=True), process):
        with suppress(psutil.NoSuchProcess):  # it ended with the one before
            one.kill()
    return f"the worker (pid {process.pid}) is killed; the platform restarts it"


def poison(state: State, _name: str) -> str:
    """Send a record into `orders` that nobody can decode."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": state.services["kafka"].address})
    producer.produce("orders", _POISON)
    if producer.flush(_WAIT_S):
        raise UsageError("Kafka did not accept the record", hint="Check `headwater status`")
    return "the topic now has a record that is not an order; `headwater demo mend` skips it"


def mend(state: State) -> list[str]:
    """Let everything go on: what was stopped, and past what cannot be decoded."""
    worker = _worker(state)
    done = []
    for name, status in sorted(worker.statuses().items()):
        parts = (status["connector"], *status["tasks"])
        states = {str(one["state"]) for one in parts}
        if name in _GENERATORS and _has(worker, name, next(iter(_NEW_FIELD))):
            worker.configure(name, connector(name))
            done.append(f"{name} has its original configuration again")
        elif "FAILED" in states:
            worker.change(name, {"errors.tolerance": "all"})
            done.append(f"{name} runs again and skips records that it cannot decode")
        elif states & {"STOPPED", "PAUSED"}:
            worker.set_target_state(name, "resume")
            done.append(f"{name} is resumed")
    return done


BREAKS: Mapping[str, Break] = {
    "stop": Break(
        "stop supplier-stats, or the given job",
        "its run ends as ABORTED and the page shows it",
        stop,
    ),
    "schema": Break(
        "add a field to orders",
        "the topic gets a new version, and every job continues with it",
        schema,
    ),
    "worker": Break(
        "kill -9 the worker",
        "its runs stop sending events; it restarts, and no order is lost or duplicated",
        worker_killed,
    ),
    "poison": Break(
        "send a record that cannot be decoded",
        "the jobs that read orders end as FAILED, with topic, partition and offset",
        poison,
    ),
}


def _worker(state: State) -> Connect:
    if "worker" not in state.services:
        raise UsageError(
            "the running platform has no worker", hint="Start the demo with `headwater demo`"
        )
    return Connect(state.services["worker"].address)


def _source(worker: Connect) -> str:
    deployed = worker.statuses()
    found = next((name for name in _GENERATORS if name in deployed), None)
    if found is None:
        raise UsageError("no source of orders is deployed", hint="Start it with `headwater demo`")
    return found


def _has(worker: Connect, name: str, key: str) -> bool:
    try:
        return key in worker.ask("GET", f"/connectors/{name}/config")
    except WorkerRefused:
        return False
