"""What a reader accepts at most, before it allocates anything; writers keep to it, too."""

__all__ = [
    "LARGEST_ATTACHMENT",
    "LARGEST_CHUNK",
    "LARGEST_LOW_RATE",
    "LARGEST_MANIFEST",
    "LARGEST_MESSAGE",
    "LARGEST_ROWS",
    "LARGEST_SCRIPT_STATE",
    "LOW_RATE_PER_BYTE",
    "LOW_RATE_TOTAL",
    "MOST_COLUMNS",
    "MOST_EVENTS",
    "MOST_ROWS",
    "MOST_SAMPLES",
    "MOST_SCENES",
]

# Bytes of a chunk as it lies in the file.
LARGEST_CHUNK = 256 << 20
# Bytes of a block's rows, decoded.
LARGEST_ROWS = 64 << 20
# Rows of a block, and columns of a row: ten thousand free bodies have 300,000.
MOST_ROWS = 4096
MOST_COLUMNS = 1 << 20
# Bytes of a decompressed chunk of events, signals or other messages; and of all of them: so many,
# and more for each byte that they take in the file. JSON becomes ten times smaller, rarely more.
LARGEST_LOW_RATE = 16 << 20
LOW_RATE_TOTAL, LOW_RATE_PER_BYTE = 128 << 20, 64
MOST_EVENTS = 500_000
MOST_SAMPLES = 20_000_000
# Bytes of one message among them.
LARGEST_MESSAGE = 8 << 20
LARGEST_MANIFEST = 16 << 20
LARGEST_ATTACHMENT = 1 << 30
# Bytes of what a script has registered, which take eight times that as Python's objects.
LARGEST_SCRIPT_STATE = 64 << 20
# Lists, numbers, texts and arrays among them, each some hundred bytes as one of Python's objects.
MOST_SCRIPT_OBJECTS = 400_000
# Each has two channels, and the container counts channels in 16 bits.
MOST_SCENES = 20_000
