"""Since when names are joined and ranked, and when edges and schemas changed."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

NEVER, FOREVER = -(2**62), 2**62


def upgrade() -> None:
    # Of stores that are older it is not known: their names were always joined.
    op.add_column(
        "alias", sa.Column("since", sa.BigInteger(), nullable=False, server_default=str(NEVER))
    )
    for name, rank in (("named_at", 1), ("declared_at", 0)):
        op.add_column(
            "dataset", sa.Column(name, sa.BigInteger(), nullable=False, server_default=str(FOREVER))
        )
        op.execute(f"UPDATE dataset SET {name} = created_at WHERE rank <= {rank}")
    op.create_index("edge_since", "edge", ["since"])
    op.create_index("edge_until", "edge", ["until"])
    op.create_index("schema_span_since", "schema_span", ["since"])
    op.create_index("mapping_span_since", "mapping_span", ["since"])
