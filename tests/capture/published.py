"""Tables of the documents that tests compare with what they see, and write anew when asked to."""

from pathlib import Path

DOCS = Path(__file__).parent.parent.parent / "docs"


class Table:
    """The one table of a page, by its head; a row is found by its first cell."""

    def __init__(self, page: str, *head: str) -> None:
        self._page, self._columns = DOCS / page, len(head)
        self._head = _line(*head)

    def rows(self) -> dict[str, list[str]]:
        """The cells of each row, by the first of them."""
        lines = self._page.read_text().partition(self._head)[2].splitlines()
        rows = [line[2:-2].split(" | ") for line in lines if line.startswith("| ")]
        return {first: rest for first, *rest in rows}

    def renew(self, first: str, *rest: str) -> None:
        """Write a row into the page, in its place or at the end."""
        rows = self.rows() | {first: [*rest]}
        before, _, after = self._page.read_text().partition(self._head)
        others = "\n".join(line for line in after.splitlines() if not line.startswith("|")).strip()
        rule = "|" + "---|" * self._columns
        body = "\n".join([self._head, rule, *(_line(name, *row) for name, row in rows.items())])
        self._page.write_text(f"{before}{body}\n" + (f"\n{others}\n" if others else ""))


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
