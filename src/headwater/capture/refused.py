"""Events that the backend refuses: set aside and counted, so that those behind them go on."""

import json
import logging
from pathlib import Path

from headwater.capture.events import Event
from headwater.capture.folders import make_private, write_private
from headwater.openlineage.masking import mask_text

log = logging.getLogger("headwater.capture")

_MOST_FILES = 200
_MOST_BYTES = 10_000_000


class RefusedEvents:
    """A folder of events that were set aside; the oldest are removed when there are too many."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self.count = 0

    def add(self, name: str, event: Event, reason: str) -> None:
        """Set an event aside, and log how many that makes: the first, the tenth, and so on."""
        self.count += 1
        kept = self._keep(name, event)
        if str(self.count).strip("0") == "1":
            log.warning(
                "headwater: %d events were refused by the backend and set aside%s; the last: %s",
                self.count,
                f" in {self._folder}" if kept else "",
                mask_text(reason),
            )

    def _keep(self, name: str, event: Event) -> bool:
        if self._folder is None:
            return False
        try:
            make_private(self._folder)
            write_private(self._folder / f"{name}.json", json.dumps(event).encode())
            self._prune(self._folder)
        except OSError:
            return False
        return True

    def _prune(self, folder: Path) -> None:
        files = sorted(folder.glob("*.json"), key=lambda path: path.stat().st_mtime, reverse=True)
        size = 0
        for number, path in enumerate(files):
            size += path.stat().st_size
            if number >= _MOST_FILES or size > _MOST_BYTES:
                path.unlink(missing_ok=True)
