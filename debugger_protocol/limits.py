"""Every limit of the protocol in one place."""

import dataclasses

__all__ = ["Limits"]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one session accepts; a settings object, passed down and never changed.

    Sizes are in bytes, times in seconds.
    """

    client_message_bytes: int = 1 << 20
    server_message_bytes: int = 16 << 20
    asset_chunk_bytes: int = 1 << 20
    # The largest asset a client takes, whatever the server says.
    asset_bytes: int = 1 << 30
    # Asset ranges one client may have under way; bounds what a client that doesn't read can hold.
    asset_requests: int = 8
    clients: int = 8
    unauthenticated_connections: int = 4
    handshake_timeout: float = 5.0
    heartbeat_interval: float = 2.0
    # A controlling client that is silent for this long loses its lease.
    lease_timeout: float = 10.0
    control_queue: int = 256
    # Log entries and bytes of signals that may wait for one client before the oldest are dropped.
    log_queue: int = 256
    signal_queue_bytes: int = 4 << 20
    commands_per_second: int = 200
    command_timeout: float = 5.0
    # The part of its owner thread's time that a scene's frames may take; those that take long come
    # less often.
    frames_share: float = 0.08
    # The same at full speed, where a step takes all cores, which do nothing while a frame is made.
    batch_frames_share: float = 0.004
    name_bytes: int = 256
    # What a script may log in one scene: names, and values under one name.
    channels: int = 8192
    channel_width: int = 65536
    # Longer sentences are cut.
    log_text_bytes: int = 64 << 10
    # Drawings of a script are sent with every frame up to this size, larger ones when they change.
    repeated_drawing_bytes: int = 256 << 10
    nesting: int = 16
    # What is kept of each scene for clients: named states, and edits that can be undone.
    checkpoints: int = 100
    checkpoint_bytes: int = 256 << 20
    edits: int = 200
    edit_bytes: int = 64 << 20
    mailbox: int = 256
