"""What can go wrong while a plan is evaluated again, in one line: such an answer is incomplete."""

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from headwater.trace.predicate import reason_of

# Spark refuses or fails, or Python cannot hold a value that Spark can, such as a date of 12345.
EVALUATION_ERRORS = (PySparkException, Py4JError, ValueError, ArithmeticError, LookupError)


def not_evaluated(error: Exception) -> str:
    """Why a plan could not be evaluated again."""
    return f"it could not be evaluated again: {reason_of(error)}"
