"""The API's answers and request bodies, declared once.

Routes send them, the OpenAPI document describes them, the page's types are generated from that,
and the command line reads them.
"""
