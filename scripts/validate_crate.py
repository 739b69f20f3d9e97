# ruff: noqa: INP001
"""Validates RO-Crates without a network, in the environment of artifact.lock.

The validator fetches the JSON-LD context of RO-Crate 1.1; here it finds that in its cache, where
this program puts the copy of the package `rocrate`. It prints what is not as the profile requires
or recommends; the exit status is 1 if a requirement is not met.
"""

from __future__ import annotations

import io
import sys
import tempfile
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import urllib3
from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import Severity, ValidationSettings

if TYPE_CHECKING:
    from requests import PreparedRequest, Response

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE = "process-run-crate-0.5"


class Copy(HTTPAdapter):
    """Answers each request with the copy of the context."""

    def send(self, request: PreparedRequest, **_options: object) -> Response:  # type: ignore[override]
        """Return the context."""
        content = (files("rocrate") / "data" / "ro-crate.jsonld").read_bytes()
        head = {"Content-Type": "application/ld+json"}
        body = io.BytesIO(content)
        return self.build_response(
            request,
            urllib3.HTTPResponse(body=body, status=200, headers=head, preload_content=False),
        )


def fill(cache: Path) -> None:
    """Put the context into a cache."""
    session = CachedSession(cache_name=str(cache), backend="sqlite", expire_after=-1)
    session.mount("https://", Copy())
    found = session.get(CONTEXT).json()["@id"]
    if found != CONTEXT:
        sys.exit(f"the copy of rocrate is that of {found}, not of {CONTEXT}")


def main() -> None:
    """Validate each crate that is named."""
    with tempfile.TemporaryDirectory(prefix="incastle-context-") as folder:
        cache = Path(folder, "cache")
        fill(cache)
        failed = False
        for crate in sys.argv[1:]:
            settings = ValidationSettings(
                rocrate_uri=crate,
                profile_identifier=PROFILE,
                requirement_severity=Severity.RECOMMENDED,
                cache_path=cache,
                offline=True,
            )
            result = services.validate(settings)
            for issue in result.get_issues():
                print(f"{crate}: {issue.severity.name.lower()}: {issue.message}")
            failed |= bool(result.get_issues(Severity.REQUIRED))
        sys.exit(failed)


if __name__ == "__main__":
    main()
