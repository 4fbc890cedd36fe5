"""Takes secrets out of events, configurations, traces and logs: the one set of rules for it."""

from headwater.openlineage.masking.addresses import MASK
from headwater.openlineage.masking.configurations import REFERENCE, mask_text, masked, unmasked
from headwater.openlineage.masking.documents import has_duplicates
from headwater.openlineage.masking.events import FACET, mask_event
from headwater.openlineage.masking.keys import is_sensitive
from headwater.openlineage.masking.logs import mask_logs
from headwater.openlineage.masking.masker import Masker
from headwater.openlineage.masking.report import Report

__all__ = [
    "FACET", "MASK", "REFERENCE", "Masker", "Report", "has_duplicates", "is_sensitive",
    "mask_event", "mask_logs", "mask_text", "masked", "unmasked",
]  # fmt: skip
