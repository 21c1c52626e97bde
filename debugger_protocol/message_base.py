"""What all messages have in common."""

import msgspec

__all__ = ["Command", "Message"]


class Message(msgspec.Struct, frozen=True, kw_only=True, tag_field="type"):
    """Base of all messages: tagged, immutable, fields by name."""


class Command(Message, frozen=True, kw_only=True):
    """Base of the messages that are answered by Done or Failed."""

    id: int
