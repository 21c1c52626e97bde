"""What a reader accepts at most, before it allocates anything; writers keep to it, too."""

__all__ = [
    "LARGEST_ATTACHMENT",
    "LARGEST_CHUNK",
    "LARGEST_LOW_RATE",
    "LARGEST_MANIFEST",
    "LARGEST_ROWS",
    "LOW_RATE_TOTAL",
    "MOST_COLUMNS",
    "MOST_EVENTS",
    "MOST_ROWS",
    "MOST_SCENES",
]

# Bytes of a chunk as it lies in the file.
LARGEST_CHUNK = 256 << 20
# Bytes of a block's rows, decoded.
LARGEST_ROWS = 64 << 20
# Rows of a block, and columns of a row: ten thousand free bodies have 300,000.
MOST_ROWS = 4096
MOST_COLUMNS = 1 << 20
# Bytes of a decompressed chunk of events, signals or other messages; and of all of those that
# one question about the file may take.
LARGEST_LOW_RATE = 16 << 20
LOW_RATE_TOTAL = 256 << 20
MOST_EVENTS = 500_000
LARGEST_MANIFEST = 16 << 20
LARGEST_ATTACHMENT = 1 << 30
# Each has two channels, and the container counts channels in 16 bits.
MOST_SCENES = 20_000
