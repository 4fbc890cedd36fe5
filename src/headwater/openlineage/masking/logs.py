"""Masks what is logged, by whichever library: the last step before a line is written."""

import logging

from headwater.openlineage.masking.configurations import mask_text


class MaskedFormatter(logging.Formatter):
    """Formats like another formatter, and masks secrets in the whole text, traces too."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self._formatter = formatter

    def format(self, record: logging.LogRecord) -> str:
        """The text of a record, without secrets."""
        return mask_text(self._formatter.format(record))


def mask_logs() -> None:
    """Mask whatever the handlers of the root logger write.

    The HTTP client logs every address that it calls, and a path may be a secret (a webhook's).
    """
    for handler in logging.getLogger().handlers:
        if not isinstance(handler.formatter, MaskedFormatter):
            handler.setFormatter(MaskedFormatter(handler.formatter or logging.Formatter()))
    for name in ("httpx", "httpcore"):
        logging.getLogger(name).setLevel(logging.WARNING)
