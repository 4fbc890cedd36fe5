"""What those who run the server look at."""

import signal

from server.api import Api
from server.events import as_bytes, run_event
from server.process import ServerProcess


def test_health_and_readiness_are_told(api: Api) -> None:
    assert api.client.get("/health").json()["status"] == "ok"
    assert api.client.get("/ready").json()["status"] == "ready"


def test_metrics_count_events_and_what_was_refused(api: Api) -> None:
    def count(name: str) -> float:
        page = api.client.get("/metrics").text
        return next(float(line.split()[1]) for line in page.splitlines() if line.startswith(name))

    events, refused = count("headwater_events_total"), count("headwater_events_rejected_total")
    api.send(run_event())
    api.post(b"nonsense")
    assert count("headwater_events_total") == events + 1
    assert count("headwater_events_rejected_total") == refused + 1
    assert count("headwater_store_bytes") > 0


def test_the_api_is_described_and_its_page_needs_no_network(api: Api) -> None:
    described = api.client.get("/api/docs/openapi.json").json()
    assert "/api/v1/lineage" in described["paths"]
    page = api.client.get("/api/docs")
    assert page.status_code == 200
    assert 'src="http' not in page.text
    assert 'href="http' not in page.text


def test_sigterm_and_ctrl_c_end_the_server_quietly(server: ServerProcess) -> None:
    server.api.send(run_event())
    assert server.end(signal.SIGTERM) in (0, -signal.SIGTERM)
    server.start()
    assert as_bytes(run_event()) in server.api.raw_events()
    assert server.end(signal.SIGINT) in (0, -signal.SIGINT, 130)
    assert "Traceback" not in server.log()
