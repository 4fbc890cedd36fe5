"""Runs an application in which one of capture's own threads waits at each call into the JVM.

So it does on a busy machine, where the application is through before capture has looked at its
work. The arguments are the seconds, the thread, and the application.
"""

import runpy
import sys
import threading
import time
from typing import Any

from py4j.java_gateway import GatewayClient

seconds, thread, app = float(sys.argv[1]), f"headwater-{sys.argv[2]}", sys.argv[3]
original: Any = GatewayClient.send_command


def send(*arguments: Any, **more: Any) -> Any:
    answer = original(*arguments, **more)
    if threading.current_thread().name == thread:
        time.sleep(seconds)
    return answer


setattr(GatewayClient, "send_command", send)  # noqa: B010 - the class is typed without it
sys.argv = sys.argv[3:]
runpy.run_path(app, run_name="__main__")
