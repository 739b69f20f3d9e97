"""The lab's command: its server, its links, its messages; the lab in a notebook."""

from __future__ import annotations

import hashlib
import html
import re
import threading
from base64 import b64encode
from http import HTTPStatus
from http.client import HTTPConnection, HTTPResponse
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import incastle as ic
from incastle.browser import link, server
from incastle.errors import IncastleError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from conftest import Output

EXAMPLES = Path(__file__).parents[2] / "examples"


FILES = {
    "index.html": (
        "<meta content=\"script-src 'self' blob:; style-src 'self'\" /><title>the lab</title>"
        '<script defer src="./lab.js"></script><link rel="stylesheet" href="./lab.css">'
        "<body></body>"
    ),
    "lab.js": "'</script>'",
    "lab.css": "body { margin: 0 }",
}
"""What the built page has, as far as the package reads it."""


def test_a_link_has_the_whole_scenario() -> None:
    text = (EXAMPLES / "incast.toml").read_text(encoding="utf-8") + "# µs\n"
    fragment = link.fragment(text)
    assert link.opened(fragment)["text"] == text
    assert set(fragment[3:]) <= set(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    )


def test_a_link_is_read_with_and_without_an_address() -> None:
    fragment = link.fragment("name = 1")
    assert link.opened(f"http://127.0.0.1:8000/{fragment}") == link.opened(fragment)
    assert link.fragment_of(f"https://example.org/lab/index.html{fragment}") == fragment
    assert link.fragment_of("examples/incast.toml") is None
    assert link.fragment_of("folder/#1.toml") is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda fragment: fragment[:60], "damaged"),
        (lambda fragment: fragment.replace("#1.", "#1.A"), "damaged"),
        (lambda fragment: fragment.replace("#1.", "#0."), "damaged"),
        (lambda fragment: fragment.replace("#1.", "#2."), "newer version"),
    ],
)
def test_a_wrong_link_is_reported(change: Callable[[str], str], message: str) -> None:
    fragment = link.fragment((EXAMPLES / "incast.toml").read_text(encoding="utf-8"))
    with pytest.raises(IncastleError, match=message):
        link.opened(change(fragment))


def test_the_command_opens_a_link(
    page: Path, cli: Callable[..., Output], monkeypatch: pytest.MonkeyPatch
) -> None:
    del page
    monkeypatch.setattr(ThreadingHTTPServer, "serve_forever", lambda _: None)
    fragment = link.fragment((EXAMPLES / "incast.toml").read_text(encoding="utf-8"))
    opened = cli("lab", "--no-browser", f"https://example.org/{fragment}")
    assert opened.status == 0
    assert re.fullmatch(rf"http://127\.0\.0\.1:\d+/{re.escape(fragment)}\n", opened.out)
    damaged = cli("lab", "--no-browser", fragment[:-9])
    assert damaged.status == IncastleError.exit_status
    assert "damaged" in damaged.err


@pytest.fixture
def page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that stands for the built page."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    monkeypatch.setattr(server, "PAGE", tmp_path)
    return tmp_path


@pytest.fixture
def port(page: Path) -> Iterator[int]:
    """Serve the page."""
    del page
    with server.server() as serving:
        thread = threading.Thread(target=serving.serve_forever)
        thread.start()
        assert server.address(serving).startswith("http://127.0.0.1:")
        yield serving.server_port
        serving.shutdown()
        thread.join()


def answer(port: int, path: str) -> HTTPResponse:
    """Request a path as it is."""
    connection = HTTPConnection("127.0.0.1", port, timeout=10)
    connection.request("GET", path)
    return connection.getresponse()


def test_the_page_is_served(port: int) -> None:
    index = answer(port, "/")
    assert index.read().decode() == FILES["index.html"]
    assert index.headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert answer(port, "/lab.js").headers.get_content_type() == "text/javascript"


@pytest.mark.parametrize("path", ["/nothing.js", "/../server.py", "/%2e%2e/server.py"])
def test_nothing_else_is_served(port: int, path: str) -> None:
    assert answer(port, path).status == HTTPStatus.NOT_FOUND


def test_a_port_that_is_taken_is_named(port: int) -> None:
    with pytest.raises(IncastleError, match=rf"port {port} of 127\.0\.0\.1: .*in use"):
        server.server(port)


def test_without_the_page_the_message_says_how_to_build_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PAGE", tmp_path / "nothing")
    with pytest.raises(IncastleError, match="make lab"):
        server.server()


def test_a_notebook_shows_the_page_as_one_document(page: Path) -> None:
    del page
    scenario = ic.load(EXAMPLES / "incast.toml", {"network.senders": 3})
    shown = ic.lab(scenario)
    frame = shown._repr_html_()
    assert 'sandbox="allow-scripts allow-downloads"' in frame
    found = re.search('srcdoc="([^"]*)"', frame)
    assert found
    document = html.unescape(found[1])
    link_in_head = re.search('<meta name="incastle-link" content="([^"]*)"', document)
    assert link_in_head
    assert link.opened(link_in_head[1])["text"] == scenario.resolved
    # The policy allows this script and this style, and no other.
    script = re.search("<script>(.*?)</script>", document, re.DOTALL)
    style = re.search("<style>(.*?)</style>", document, re.DOTALL)
    assert script
    assert style
    assert script[1] == "'<\\/script>'"
    policy = f"script-src {sha256(script[1])} blob:; style-src {sha256(style[1])}"
    assert f'<meta content="{policy}" />' in document
    assert "src=" not in document.partition("<body>")[2]


def sha256(text: str) -> str:
    """Hash as a content security policy does."""
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_files_open_in_a_notebook_too(page: Path) -> None:
    del page
    assert (
        repr(ic.lab(EXAMPLES / "incast.toml")) == "<the lab with 'incast-20': a notebook shows it>"
    )
