"""Links to the lab: a scenario, and what the page shows of it, behind the `#` of an address.

The same format as lab/src/link/share.ts: JSON, deflated (RFC 1951) behind its Adler-32 checksum, as
base64 for addresses (RFC 4648, section 5), behind the number of the format. The part of an address
behind `#` never reaches a server.
"""

from __future__ import annotations

import json
import zlib
from base64 import urlsafe_b64encode

FORMAT = 1
RAW_DEFLATE = -15
"""zlib's word for a stream without header."""


def fragment(text: str) -> str:
    """Return the part of the address that opens a scenario, from its beginning, running."""
    shared = {
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
    whole = zlib.adler32(content).to_bytes(4, "big") + packed
    return f"#{FORMAT}.{urlsafe_b64encode(whole).decode().rstrip('=')}"
