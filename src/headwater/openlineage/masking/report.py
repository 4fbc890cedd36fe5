"""What was masked, and where; how many secrets are looked for one by one."""

from collections import Counter

MOST_PATHS = 50
MOST_SECRETS = 10_000  # in the texts of one event, each of which takes 25 µs


class TooManySecrets(Exception):
    """A text is too long, or has more secrets than are looked for one by one."""


class Report:
    """What was masked: how often by each rule, and where (no more than `MOST_PATHS` places)."""

    def __init__(self) -> None:
        self.rules: Counter[str] = Counter()
        self.paths: list[str] = []
        self._stack: list[str] = []
        self._in_texts = 0

    def __bool__(self) -> bool:
        return bool(self.rules)

    def note(self, rule: str) -> None:
        """Count a secret at the place that is being looked at."""
        self.rules[rule] += 1
        if len(self.paths) < MOST_PATHS:
            path = ".".join(self._stack)
            if path and path not in self.paths[-1:]:
                self.paths.append(path)

    def note_in_text(self, rule: str) -> None:
        """Count a secret inside a text.

        Raises: TooManySecrets, when the rest of the text should not be searched.
        """
        self._in_texts += 1
        if self.is_full:
            raise TooManySecrets
        self.note(rule)

    @property
    def is_full(self) -> bool:
        """Whether further texts are masked as a whole."""
        return self._in_texts > MOST_SECRETS

    def enter(self, place: str) -> None:
        """Go into a key or an index."""
        self._stack.append(place)

    def leave(self) -> None:
        """Come out of it."""
        self._stack.pop()

    @property
    def depth(self) -> int:
        """How many levels there are above the place that is being looked at."""
        return len(self._stack)
