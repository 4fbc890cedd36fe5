"""Brings a store's tables up to the version this code expects."""

import sqlite3
from pathlib import Path

import psycopg
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError

from headwater.errors import StoreUnreachable
from headwater.server.store.database import Database

_MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(database: Database) -> None:
    """Create or upgrade the tables.

    Raises: StoreUnreachable, when the database refuses.
    """
    if _version(database) == _latest():
        return
    # Alembic takes half a second to import, and is mostly not needed.
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS))
    engine = create_engine(sqlalchemy_url(database.url))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except SQLAlchemyError as error:
        raise StoreUnreachable(database.name, str(error).partition("\n")[0]) from error
    finally:
        engine.dispose()


def _version(database: Database) -> str | None:
    """The version that the tables have; None where there are none yet."""
    try:
        with database.reading() as session:
            rows = session.all("SELECT version_num FROM alembic_version")
    except (sqlite3.OperationalError, psycopg.errors.UndefinedTable):
        return None
    return str(rows[0][0]) if rows else None


def _latest() -> str:
    """The version that this code expects: each migration's file begins with its own."""
    return max(path.name for path in (_MIGRATIONS / "versions").glob("*.py")).partition("_")[0]


def sqlalchemy_url(url: str) -> str:
    """The address as SQLAlchemy wants it, with the driver named."""
    scheme, _, rest = url.partition(":")
    return f"postgresql+psycopg:{rest}" if scheme.startswith("postgres") else url
