"""The feed of changes."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    number = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
    op.create_table(
        "feed",
        sa.Column("id", number, primary_key=True),
        sa.Column("body", sa.LargeBinary(), nullable=False),
    )
