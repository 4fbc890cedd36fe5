"""The local platform: real services, started, watched and ended by one command.

settings = Settings.read(os.environ)
state = running(settings.home)             the platform that `headwater up` started
spark_conf(state)                          the Spark configuration to use it
environment(state)                         its addresses, under the names clients read
spark_jars(settings), java_home(settings)  for a Spark without the platform
official_jar(settings)                     OpenLineage's own listener
"""

from headwater.stack.java import java_home
from headwater.stack.settings import Settings
from headwater.stack.spark import environment, official_jar, spark_conf, spark_jars
from headwater.stack.state import ServiceState, State, running

__all__ = [
    "ServiceState",
    "Settings",
    "State",
    "environment",
    "java_home",
    "official_jar",
    "running",
    "spark_conf",
    "spark_jars",
]
