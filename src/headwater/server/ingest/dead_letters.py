"""The dead-letter topic: messages that are no events, with the reason and the place of each."""

import logging
from typing import Any

from headwater.server.ingest.scrubbing import Scrubber

_LARGEST = 900_000  # bytes of a message; brokers take a million by default
_SMALL = 100_000  # bytes when even that was refused
_LONGEST = 2_000  # characters of a reason
_log = logging.getLogger(__name__)


class DeadLetters:
    """Sends messages to the dead-letter topic, and knows which of them the broker has."""

    def __init__(self, producer: Any, topic: str, scrubber: Scrubber) -> None:
        self._producer, self._topic, self._scrubber = producer, topic, scrubber
        self._unsent: dict[str, tuple[Any, str, int]] = {}  # by place: message, reason, size
        self.failure: str | None = None  # why the broker did not take a message

    def send(self, message: Any, reason: str) -> None:
        """Send a message with the reason; `settle` tells when the broker has it."""
        self._send(message, self._scrubber.text(reason)[:_LONGEST], _LARGEST)

    def settle(self, seconds: float) -> bool:
        """Wait for the broker for a while, and send again what it refused; whether it has all."""
        self._producer.flush(seconds)
        if self._unsent and not len(self._producer):
            for message, reason, size in [*self._unsent.values()]:
                self._send(message, reason, size)
            self._producer.flush(seconds)
        return not self._unsent

    def forget(self) -> None:
        """Give up what is under way: the messages will be read again."""
        self._unsent.clear()

    def _send(self, message: Any, reason: str, size: int) -> None:
        place = f"{message.topic()}/{message.partition()}/{message.offset()}"
        self._unsent[place] = (message, reason, size)

        def delivered(error: Any, _: Any) -> None:
            if error is None:
                self._unsent.pop(place, None)
                return
            self.failure = str(error)
            if place in self._unsent and error.name() == "MSG_SIZE_TOO_LARGE":
                self._unsent[place] = (message, reason, _SMALL)

        try:
            self._producer.produce(
                self._topic,
                self._body(message, size),
                key=message.key(),
                headers={"reason": reason, "from": place},
                on_delivery=delivered,
            )
        except BufferError:
            self._producer.poll(1)  # the queue is full; `settle` sends it again
        except Exception as error:
            self.failure = str(error)
            self._unsent[place] = (message, reason, _SMALL)

    def _body(self, message: Any, size: int) -> bytes:
        text = (message.value() or b"")[:size].decode(errors="replace")
        try:
            return self._scrubber.message(text.encode())[:size]
        except Exception:
            _log.exception("a message could not be masked, and is not shown")
            return b"(not shown: it could not be masked)"
