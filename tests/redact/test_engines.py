"""Without RE2 the standard library does the same, only slower."""

from __future__ import annotations

import json
import subprocess
import sys

from .test_forms import ENCODERS, SECRET
from .test_shapes import FOUND

PROGRAM = """
import json, sys
sys.modules["re2"] = None
from devops_bench.redact import Redactor
secret, texts = json.load(sys.stdin)
redactor = Redactor({"KEY": secret})
result = []
for text in texts:
    stream, raw = redactor.stream(), text.encode()
    cut = b"".join(stream.feed(raw[at:at + 7]) for at in range(0, len(raw), 7)) + stream.flush()
    result.append([redactor.text(text), cut.decode()])
assert "re2" not in repr(type(redactor._passes[0].scan))
print(json.dumps(result))
"""


def test_the_standard_library_engine_gives_the_same_text() -> None:
    texts = [f"<{encode(SECRET)}>" for encode in ENCODERS.values()] + [text for text, _ in FOUND.values()]
    expected = ["<[KEY]>"] * len(ENCODERS) + [shown for _, shown in FOUND.values()]
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps([SECRET, texts]), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == [[text, text] for text in expected]
