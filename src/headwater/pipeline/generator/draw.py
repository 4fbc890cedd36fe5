"""Random numbers that depend only on a seed and a row's number, so that a replay repeats them."""

import msgspec
from pyspark.sql import Column
from pyspark.sql import functions as F

_STEPS = 1 << 53  # as many as a double tells apart


class Draw(msgspec.Struct, frozen=True):
    """One random draw per row; the salt tells draws of the same row apart."""

    salt: str
    row: Column

    def other(self, name: object) -> "Draw":
        """A draw that is independent of this one."""
        return Draw(f"{self.salt}/{name}", self.row)

    def unit(self) -> Column:
        """A double from 0 up to, and without, 1."""
        return F.pmod(F.xxhash64(F.lit(self.salt), self.row), F.lit(_STEPS)) / F.lit(float(_STEPS))

    def whole(self, low: int, high: int) -> Column:
        """A whole number from low up to, and with, high."""
        return (F.lit(low) + F.floor(self.unit() * F.lit(high - low + 1))).cast("bigint")

    def one_of(self, choices: list[str]) -> Column:
        """One of several texts."""
        if len(choices) == 1:
            return F.lit(choices[0])
        texts = F.array(*(F.lit(choice) for choice in choices))
        return F.element_at(texts, self.whole(1, len(choices)).cast("int"))

    def uuid(self) -> Column:
        """A random UUID, version 4."""
        text = F.md5(F.concat_ws("/", F.lit(self.salt), self.row.cast("string")))
        part = [
            F.substring(text, start, size) for start, size in ((1, 8), (9, 4), (14, 3), (18, 3))
        ]
        variant = self.other("variant").one_of(["8", "9", "a", "b"])
        return F.concat(
            *(part[0], F.lit("-"), part[1], F.lit("-4"), part[2], F.lit("-"), variant, part[3]),
            *(F.lit("-"), F.substring(text, 21, 12)),
        )
