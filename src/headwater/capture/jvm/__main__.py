"""`python -m headwater.capture.jvm CLASS …`; spark-submit's options are in PYSPARK_SUBMIT_ARGS."""

import logging
import sys

from headwater.capture.jvm.application import Application

if __name__ == "__main__":
    # What py4j says of a JVM that has ended is no news to anybody.
    logging.getLogger("py4j").setLevel(logging.CRITICAL + 1)
    Application(sys.argv[1], sys.argv[2:]).run()
