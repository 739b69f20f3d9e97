"""Serves the page of the lab on this machine alone: plain files, on 127.0.0.1."""

from __future__ import annotations

import functools
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from incastle.errors import IncastleError

PAGE = Path(__file__).parent / "page"
HOST = "127.0.0.1"
ANY_PORT = 0


class Handler(SimpleHTTPRequestHandler):
    """Answers with a file of the page, and logs nothing."""

    extensions_map = SimpleHTTPRequestHandler.extensions_map | {
        ".js": "text/javascript",
        ".wasm": "application/wasm",
    }

    def end_headers(self) -> None:
        """Add headers that keep other sites from using the page."""
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def log_message(self, *_: Any) -> None:  # noqa: ANN401 - the signature of the base
        """Keep silent."""


def is_built() -> bool:
    """Return whether the page is here."""
    return (PAGE / "index.html").exists()


def require_page() -> None:
    """Raise where the page is missing."""
    if not is_built():
        raise IncastleError("the lab is not built here: `make lab` builds it, wheels have it")


def server(port: int = ANY_PORT) -> ThreadingHTTPServer:
    """Return a server of the page that has its address, but does not answer yet."""
    require_page()
    handler = functools.partial(Handler, directory=str(PAGE))
    try:
        return ThreadingHTTPServer((HOST, port), handler)
    except OSError as error:
        reason = error.strerror or str(error)
        raise IncastleError(f"port {port} of {HOST}: {reason}; --port 0 takes a free one") from None


def address(serving: ThreadingHTTPServer) -> str:
    """Return the page's address."""
    return f"http://{HOST}:{serving.server_port}/"
