"""A DAG whose tasks read and write assets; the last one fails."""

try:
    from airflow.sdk import DAG, Asset
except ImportError:  # Airflow 2
    from airflow import DAG
    from airflow.lineage.entities import File as Asset
try:
    from airflow.providers.standard.operators.bash import BashOperator
    from airflow.providers.standard.operators.python import PythonOperator
except ImportError:
    from airflow.operators.bash import BashOperator
    from airflow.operators.python import PythonOperator

RAW, ORDERS, TOTALS = (Asset(f"file:///lake/{name}") for name in ("raw", "orders", "totals"))


def fail() -> None:
    raise ValueError("no price")


with DAG("shop", schedule=None, tags=["demo"]):
    load = BashOperator(task_id="load", bash_command="true", inlets=[RAW], outlets=[ORDERS])
    total = BashOperator(task_id="total", bash_command="true", inlets=[ORDERS], outlets=[TOTALS])
    check = PythonOperator(task_id="check", python_callable=fail, inlets=[TOTALS])
    load >> total >> check
