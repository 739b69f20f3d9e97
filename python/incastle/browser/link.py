"""Links to the lab: a scenario, and what the page shows of it, behind the `#` of an address.

The same format as lab/src/link/share.ts: JSON, deflated (RFC 1951) behind its Adler-32 checksum, as
base64 for addresses (RFC 4648, section 5), behind the number of the format. The part of an address
behind `#` never reaches a server.
"""

from __future__ import annotations

import json
import re
import zlib
from base64 import urlsafe_b64decode, urlsafe_b64encode
from typing import Any

from incastle.errors import IncastleError

FORMAT = 1
RAW_DEFLATE = -15
"""zlib's word for a stream without header."""
CHECKSUM_BYTES = 4
_LINK = re.compile(r"[^#\n]*(#(\d+)\.([\w-]{20,}))", re.ASCII)
"""A fragment, with or without the address of a page before it; a file's name is none."""


def fragment(text: str, experiment: str | None = None) -> str:
    """Return the part of the address that opens a scenario, from its beginning, running.

    With the name of an experiment of the gallery, the page shows its words and sliders.
    """
    shared = {
        **({} if experiment is None else {"experiment": experiment}),
        "text": text,
        "a": {},
        "b": {},
        "comparing": False,
        "time_s": 0,
        "playing": True,
        "speed": 1,
    }
    content = json.dumps(shared, ensure_ascii=False).encode()
    deflate = zlib.compressobj(level=9, wbits=RAW_DEFLATE)
    packed = deflate.compress(content) + deflate.flush()
    whole = zlib.adler32(content).to_bytes(CHECKSUM_BYTES, "big") + packed
    return f"#{FORMAT}.{urlsafe_b64encode(whole).decode().rstrip('=')}"


def fragment_of(link: str) -> str | None:
    """Return the part of a link from its `#` on; none where the text is no link."""
    found = _LINK.fullmatch(link)
    return found and found[1]


def opened(link: str) -> dict[str, Any]:
    """Read what a link has, as the page does.

    Raises:
        IncastleError: it is damaged, or of a newer version.

    """
    found = _LINK.fullmatch(link)
    if found and int(found[2]) > FORMAT:
        raise IncastleError(
            "this link was made by a newer version of the lab: pip install --upgrade incastle"
        )
    content = _unpacked(found[3]) if found and int(found[2]) == FORMAT else None
    if content is None:
        raise IncastleError(
            "this link is damaged, a part of it may be missing: copy the whole link again"
        )
    shared: dict[str, Any] = json.loads(content)
    return shared


def _unpacked(packed: str) -> bytes | None:
    """Return what a link of this format has; none where its checksum is of something else."""
    try:
        whole = urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
        content = zlib.decompress(whole[CHECKSUM_BYTES:], wbits=RAW_DEFLATE)
    except (ValueError, zlib.error):
        return None
    checksum = int.from_bytes(whole[:CHECKSUM_BYTES], "big")
    return content if checksum == zlib.adler32(content) else None
