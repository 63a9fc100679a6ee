"""What providers' replies say, read as they come: whole or as a stream, in all wire formats, tolerant of anything.

`ReplyReader` gets the bytes of one successful reply in any portions and can tell at any time what was heard so far.
Each member module folds the JSON of its wire format into a `Draft`. Nothing here raises for what is in a reply: it is
hostile input. Memory is bounded by the limits of `draft` and `events`. No I/O.
"""

from devops_bench.models.replies.draft import Heard
from devops_bench.models.replies.reader import ReplyReader

__all__ = ["Heard", "ReplyReader"]
