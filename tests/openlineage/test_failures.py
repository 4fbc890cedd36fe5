"""Why a run failed, in one line: the user's own exception, whatever Spark wraps around it."""

import pytest

from headwater.openlineage.failures import failure_reason

# As Spark 4.1.3 writes them; frames of the JVM are shortened.
WORKER = """
  An exception was thrown from the Python worker. Please see the stack trace below.
Traceback (most recent call last):
  File "app.py", line 7, in bad
    raise ValueError("price must not be negative: -1")
ValueError: price must not be negative: -1
"""
STREAM = (
    "StreamingQueryException: [STREAM_FAILED] Query [id = 57997146, runId = 37900dbe] terminated "
    "with exception: Job aborted due to stage failure: Task 0 in stage 2.0 failed 1 times, most "
    "recent failure: Lost task 0.0 in stage 2.0 (TID 2) (10.0.0.1 executor driver): "
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
    '  File "app.py", line 7, in bad\n'
    '    raise ValueError("price must not be negative: -1")\n'
    "ValueError: price must not be negative: -1\n\n"
    "\tat org.apache.spark.api.python.BasePythonRunner.handlePythonException(PythonRunner.scala)\n"
    "\nDriver stacktrace: SQLSTATE: XXKST\n=== Streaming Query ===\n"
)
BATCH_FUNCTION = (
    "[STREAM_FAILED] Query [id = 6f4f76aa] terminated with exception: "
    "[FOREACH_BATCH_USER_FUNCTION_ERROR] An error occurred in the user provided function in "
    "foreach batch sink. Reason: An exception was raised by the Python Proxy. Return Message: "
    "Traceback (most recent call last):\n"
    '  File "pyspark/sql/utils.py", line 162, in call\n    self.func(frame, batch_id)\n'
    '  File "app.py", line 18, in fb\n    raise KeyError("supplier")\n         ^^^^^^^\n'
    "KeyError: 'supplier'\n SQLSTATE: 39000 SQLSTATE: XXKST\n"
)
CHAINED = """Traceback (most recent call last):
  File "app.py", line 1, in read
KeyError: 'id'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "app.py", line 4, in read
shop.errors.BadOrder: order 7 has no id
"""


@pytest.mark.parametrize(
    ("message", "stack", "reason"),
    [
        ("price is null\n  at check.py:7", "", "price is null"),
        ("ValueError: after the write", "", "ValueError: after the write"),
        (f"PythonException: {WORKER}", "", "ValueError: price must not be negative: -1"),
        # Capture keeps a message up to its first empty line.
        ("PythonException: ", WORKER, "ValueError: price must not be negative: -1"),
        ("pyspark.errors.PythonException: ", "", ""),
        (STREAM, "", "ValueError: price must not be negative: -1"),
        (STREAM.partition("\n\n")[0], "", "ValueError: price must not be negative: -1"),
        (BATCH_FUNCTION, "", "KeyError: 'supplier'"),
        (CHAINED, "", "shop.errors.BadOrder: order 7 has no id"),
        ("Traceback (most recent call last):\n  File", "", "Traceback (most recent call last):"),
        ("AnalysisException: no such table", CHAINED, "AnalysisException: no such table"),
        ("KeyboardInterrupt", "", "KeyboardInterrupt"),
        ("", "", ""),
        ("\n \n", "", ""),
    ],
)
def test_the_reason_is_the_exception_that_the_users_code_raised(
    message: str, stack: str, reason: str
) -> None:
    assert failure_reason(message, stack) == reason


@pytest.mark.parametrize("word", ["x", "x.", "PythonException", "PythonException: "])
def test_a_message_of_a_million_letters_is_read(word: str) -> None:
    message = word * (1_000_000 // len(word))
    assert failure_reason(message)
