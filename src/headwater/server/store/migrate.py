"""Brings a store's tables up to the version this code expects."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import create_engine
from sqlalchemy.exc import SQLAlchemyError

from headwater.errors import StoreUnreachable
from headwater.server.store.database import Database


def migrate(database: Database) -> None:
    """Create or upgrade the tables.

    Raises: StoreUnreachable, when the database refuses.
    """
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    engine = create_engine(sqlalchemy_url(database.url))
    try:
        with engine.begin() as connection:
            config.attributes["connection"] = connection
            command.upgrade(config, "head")
    except SQLAlchemyError as error:
        raise StoreUnreachable(database.name, str(error).partition("\n")[0]) from error
    finally:
        engine.dispose()


def sqlalchemy_url(url: str) -> str:
    """The address as SQLAlchemy wants it, with the driver named."""
    scheme, _, rest = url.partition(":")
    return f"postgresql+psycopg:{rest}" if scheme.startswith("postgres") else url
