"""Capture in a session of Spark Connect: what a client sees without the server's plans."""

from headwater.capture.connect.capture import ConnectCapture

__all__ = ["ConnectCapture"]
