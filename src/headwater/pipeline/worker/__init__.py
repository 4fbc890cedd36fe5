"""The worker: one Spark application that hosts connectors and jobs behind Connect's API."""
