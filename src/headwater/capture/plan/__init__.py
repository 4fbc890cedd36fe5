"""Turns the JSON of an analyzed Spark plan into column lineage; needs no Spark to run."""

from headwater.capture.plan.analysis import PlanLineage, analyze

__all__ = ["PlanLineage", "analyze"]
