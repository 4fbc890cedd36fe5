"""How Alembic runs here: on the connection it is given, in its transaction."""

from alembic import context

from headwater.server.store.tables import metadata

connection = context.config.attributes["connection"]
if connection.dialect.name == "postgresql":
    # Two servers that start at once take turns.
    connection.exec_driver_sql("SELECT pg_advisory_xact_lock(4846217)")
context.configure(connection=connection, target_metadata=metadata)
with context.begin_transaction():
    context.run_migrations()
