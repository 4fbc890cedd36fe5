"""How the help pages look: what a flag takes is not said, and rare options stay out of sight."""

from typing import Any

from typer.core import TyperCommand, TyperGroup

_RARE = frozenset({"install_completion", "show_completion"})

_EXAMPLES = (
    ("headwater server", "store and serve lineage on this machine"),
    ("headwater search price", "find jobs, datasets and columns"),
    ("headwater lineage orders", "upstream and downstream of a dataset"),
    ("headwater lineage orders.price --columns", "upstream and downstream of a column"),
    ("headwater impact orders.price", "everything that depends on a column"),
    ("headwater diff --from 2h", "what changed in the graph"),
    ("headwater watch", "states and rates, live"),
    ("headwater runs --state failed", "the latest failures, and why"),
    ("headwater events --after 10m --json", "raw events of the last ten minutes"),
)
EPILOG = "\n".join(
    f"[cyan]{command:<41}[/cyan] [dim]{text}[/dim]" for command, text in _EXAMPLES
)  # fmt: skip


class Front(TyperGroup):
    """The bare command, or a group with options of its own."""

    def get_params(self, ctx: Any) -> Any:
        """The options, as the help shows them."""
        return _plain(super().get_params(ctx))


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> Any:
        """The options, as the help shows them."""
        return _plain(super().get_params(ctx))


def _plain(params: list[Any]) -> list[Any]:
    for param in params:
        if getattr(param, "is_flag", False):
            param.metavar = ""
        if param.name in _RARE:
            param.hidden = True
    return params
