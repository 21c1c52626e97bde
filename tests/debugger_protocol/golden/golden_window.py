"""Golden bytes of the window's own endpoint."""

from typing import Any

from stroboscope.debugger_protocol import window_messages as w

MESSAGES: list[tuple[Any, str]] = [
    (
        w.OpenSession(id=1, session_id="00112233aabbccdd"),
        "83a474797065ac6f70656e5f73657373696f6ea2696401aa73657373696f6e5f6964b03030313132"
        "3233336161626263636464",
    ),
    (
        w.Focus(id=2),
        "82a474797065a5666f637573a2696402",
    ),
    (
        w.Ping(id=3),
        "82a474797065a470696e67a2696403",
    ),
    (
        w.Screenshot(id=4),
        "82a474797065aa73637265656e73686f74a2696404",
    ),
    (
        w.WindowStatusRequest(id=5),
        "82a474797065b577696e646f775f7374617475735f72657175657374a2696405",
    ),
    (
        w.Picture(id=4, png=b"PNG"),
        "83a474797065a770696374757265a2696404a3706e67c403504e47",
    ),
    (
        w.WindowStatus(
            id=5, pid=4242, sessions=(w.WindowSession(session_id="00112233aabbccdd", pid=7),)
        ),
        "84a474797065ad77696e646f775f737461747573a2696405a3706964cd1092a873657373696f6e73"
        "9184aa73657373696f6e5f6964b030303131323233336161626263636464a6736372697074a0a370"
        "696407a9636f6e6e6563746564c3",
    ),
]
