"""An index of the datasets that are shown, by which a namespace's are listed and counted."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

_SHOWN = sa.text("id = root AND NOT hidden")


def upgrade() -> None:
    op.create_index(
        "dataset_shown",
        "dataset",
        ["namespace", "name"],
        sqlite_where=_SHOWN,
        postgresql_where=_SHOWN,
    )
