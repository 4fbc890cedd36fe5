"""Whom the wheel's Java trusts: those whom this machine trusts, a company's proxy among them.

A system's Java is set up by whoever runs the machine. The one in the wheel knows only public
authorities, so that behind a proxy with a certificate of its own it could fetch nothing.
"""

import os
import ssl
import threading
import warnings
from collections.abc import Iterator
from pathlib import Path

from cryptography.hazmat.primitives.serialization import BestAvailableEncryption
from cryptography.hazmat.primitives.serialization.pkcs12 import (
    PKCS12Certificate,
    serialize_java_truststore,
)
from cryptography.utils import CryptographyDeprecationWarning
from cryptography.x509 import load_pem_x509_certificates

from headwater.stack.files import write_atomically
from headwater.stack.java import is_bundled

_VARIABLES = ("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "PIP_CERT")
_PLACES = (
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/cert.pem",
)
_parsing = threading.Lock()  # what is done about warnings holds for all threads
_PASSWORD = "headwater"  # noqa: S105 -- of a file with public certificates


def options(java: Path, folder: Path) -> list[str]:
    """The JVM options with which a Java trusts whom this machine trusts."""
    bundle = next(_bundles(), None)
    if bundle is None or not is_bundled(java):
        return []
    store = folder / "trust.p12"
    _write(bundle, store)
    return [
        f"-Djavax.net.ssl.trustStore={store}",
        "-Djavax.net.ssl.trustStoreType=PKCS12",
        f"-Djavax.net.ssl.trustStorePassword={_PASSWORD}",
    ]


def _bundles() -> Iterator[Path]:
    default = ssl.get_default_verify_paths().cafile
    for name in (*(os.environ.get(v) for v in _VARIABLES), default, *_PLACES):
        if name and Path(name).is_file():
            yield Path(name)


def _write(bundle: Path, store: Path) -> None:
    with _parsing, warnings.catch_warnings():
        # Some public authorities' own certificates are not quite by the book.
        warnings.simplefilter("ignore", CryptographyDeprecationWarning)
        certificates = load_pem_x509_certificates(bundle.read_bytes())
    entries = [PKCS12Certificate(one, b"%d" % n) for n, one in enumerate(certificates)]
    encryption = BestAvailableEncryption(_PASSWORD.encode())
    write_atomically(store, serialize_java_truststore(entries, encryption))
