"""The drawings of `static/img/icons.svg`: each is one path, and stands in the page that shows it.

A reference to a file beside the page would be one more request, and a tree of its own for the
browser to build, style and lay out at every place where it stands.
"""

import re
from functools import lru_cache

from studio.web import static

SPRITE = "img/icons.svg"
SYMBOL = re.compile(
    r'<symbol id="icon-([a-z0-9-]+)" viewBox="0 0 24 24"><path d="([^"]+)"/></symbol>'
)


def drawing(name: str) -> str:
    """The path of that icon, for a `d`. Raises KeyError for one that is not in the sprite."""
    return _drawings()[name]


@lru_cache(maxsize=1)
def _drawings() -> dict[str, str]:
    found = static.find(SPRITE)
    if found is None:
        raise FileNotFoundError(f"static/{SPRITE} is not there: install the studio again")
    return dict(SYMBOL.findall(found.data.decode()))
