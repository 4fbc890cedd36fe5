"""`headwater job` and `headwater worker`: the pipeline's jobs, and the host of its connectors."""

import os
from pathlib import Path
from typing import Annotated

import typer

from headwater.cli.capture import Listener, Who, jar_of_official
from headwater.cli.connectors import Url, worker_at
from headwater.cli.extras import needs
from headwater.cli.help import Command, Front
from headwater.cli.options import AsJson
from headwater.cli.output import note, write_json, write_table
from headwater.cli.spark import prepare
from headwater.errors import PipelineExtraMissing

job = typer.Typer(
    name="job", help="List, run and stop the pipeline's jobs.", no_args_is_help=True, cls=Front
)

Master = Annotated[str, typer.Option(envvar="SPARK_MASTER", help="Spark master.")]


@job.command("list", cls=Command)
@needs(PipelineExtraMissing)
def list_jobs(as_json: AsJson = False) -> None:
    """List the available jobs."""
    from headwater.pipeline.jobs.catalog import JOBS

    if as_json:
        rows = [{"name": one.name, "kind": one.kind, "about": one.about} for one in JOBS.values()]
        write_json(rows)
    else:
        write_table(("JOB", "KIND", "WHAT"), [(j.name, j.kind, j.about) for j in JOBS.values()])


@job.command("run", cls=Command)
@needs(PipelineExtraMissing)
def run_job(
    name: Annotated[str, typer.Argument(help="Name of the job.", show_default=False)],
    master: Master = "local[*]",
    bootstrap: Annotated[str | None, typer.Option(help="Kafka's bootstrap servers.")] = None,
    registry: Annotated[str | None, typer.Option(help="Address of the schema registry.")] = None,
    input_topic: Annotated[str | None, typer.Option(help="Topic to read.")] = None,
    output_topic: Annotated[str | None, typer.Option(help="Topic to write.")] = None,
    catalog: Annotated[str | None, typer.Option(help="Name of the Iceberg catalog.")] = None,
    checkpoints: Annotated[str | None, typer.Option(help="Folder for checkpoints.")] = None,
    tables: Annotated[
        str | None, typer.Option(help="Tables to maintain (maintenance only). Default: all.")
    ] = None,
    keep_seconds: Annotated[
        str | None,
        typer.Option(help="Age in seconds at which snapshots expire (maintenance only)."),
    ] = None,
    format_version: Annotated[
        str | None,
        typer.Option(help="Format of Iceberg tables that are created: 2 or 3. Default: 3."),
    ] = None,
    listener: Who = Listener.headwater,
) -> None:
    """Run a job in the foreground: a batch job to its end, a streaming job until Ctrl-C.

    If a batch job is ended by SIGTERM, the exit code is 143; by Ctrl-C, it is 130.
    """
    from headwater.capture.official import with_listener
    from headwater.pipeline.jobs.catalog import job as find
    from headwater.pipeline.jobs.run import run
    from headwater.pipeline.settings import Settings
    from headwater.pipeline.worker.serve import session

    wanted = find(name)
    conf = prepare()
    if listener is Listener.official:
        conf = with_listener(conf, jar_of_official(), os.environ)
    settings = Settings.read(
        os.environ,
        bootstrap=bootstrap,
        registry=registry,
        input_topic=input_topic,
        output_topic=output_topic,
        catalog=catalog,
        checkpoints=checkpoints,
        tables=tables,
        keep_seconds=keep_seconds,
        format_version=format_version,
    )
    spark = session(master, settings.job_name or name, conf)
    run(wanted, spark, settings, observed=listener is Listener.headwater)
    note(f"{name} ended")


@job.command("stop", cls=Command)
def stop_job(
    name: Annotated[str, typer.Argument(help="Name of the job.", show_default=False)], url: Url = ""
) -> None:
    """Stop a job on a worker. It stays deployed; `connector resume` starts it again."""
    worker_at(url).set_target_state(name, "stop")
    note(f"{name} stopped")


@needs(PipelineExtraMissing)
def worker(
    master: Master = "local[*]",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on.", min=0, max=65535)] = 8083,
    state: Annotated[
        str,
        typer.Option(
            envvar="HEADWATER_WORKER_STATE",
            metavar="PATH | s3://…",
            help="Where to store connectors and checkpoints.",
        ),
    ] = "worker",
    key_file: Annotated[
        Path | None,
        typer.Option(
            envvar="HEADWATER_WORKER_KEYS",
            metavar="FILE",
            help="File of API keys. Each request must carry one of them.",
            show_default=False,
        ),
    ] = None,
    is_open: Annotated[
        bool,
        typer.Option(
            "--open",
            help="Serve other machines without keys, behind a proxy that authenticates requests.",
        ),
    ] = False,
) -> None:
    """Run connectors and jobs, managed through Kafka Connect's REST API."""
    from headwater.http.keys import KeyFile
    from headwater.pipeline.worker.access import check_exposure
    from headwater.pipeline.worker.serve import serve

    keys = KeyFile(key_file) if key_file is not None else None
    check_exposure(host, keys, is_open=is_open)
    serve(master, host, port, state, prepare(), keys=keys, is_open=is_open)
