"""Run the blocks of PyTorch's code in ``docs/backward.md``, and compare what they say they give.

The page shows numbers of PyTorch in comments. They were made, and are checked, where torch is
installed: ``python -m tests.docs.backward_in_torch`` in the ``bench`` environment.
"""

import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "backward.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^(\S.*?)  # (.+)$", re.MULTILINE)


def differences(text: str) -> list[str]:
    """Return what a page shows and PyTorch does not give, with what it gives."""
    names: dict[str, Any] = {}
    found = []
    for block in BLOCK.findall(text):
        start = 0
        for line in SHOWN.finditer(block):
            exec(block[start : line.start()], names)
            start = line.end()
            given = repr(eval(line[1], names))
            if given != line[2]:
                found.append(f"{line[0]}: gives {given}")
        exec(block[start:], names)
    return found


if __name__ == "__main__":
    sys.exit("\n".join(differences(PAGE.read_text(encoding="utf-8"))) or None)
