"""Iceberg snapshots that runs told of."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    op.create_table(
        "snapshot",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("seq", sa.BigInteger(), primary_key=True),
        sa.Column("run", sa.BigInteger(), nullable=False),
        sqlite_with_rowid=False,
    )
