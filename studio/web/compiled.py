"""Templates as Jinja compiled them, kept where Python keeps its own compiled modules.

Compiling all of them takes more than a second, reading them back a fiftieth of it. Python's rules
hold: a folder that cannot be written to keeps nothing, PYTHONDONTWRITEBYTECODE and
PYTHONPYCACHEPREFIX say what they always say, and what does not fit its source is made anew.
"""

import importlib.util
import logging
import marshal
import os
import secrets
import sys
from hashlib import sha256
from pathlib import Path

import jinja2
from jinja2.bccache import Bucket, BytecodeCache

log = logging.getLogger(__name__)


class Compiled(BytecodeCache):
    """Compiled templates beside their sources.

    What a filter is applied to is never a constant, and no filter asks for the context (a test
    looks): so nothing of the filters themselves is in what was compiled.
    """

    def get_cache_key(self, name: str, filename: str | None = None) -> str:
        """The file that keeps it."""
        return importlib.util.cache_from_source(filename or name)

    def get_source_checksum(self, source: str) -> str:
        """What says that a source is the same."""
        return sha256(source.encode()).hexdigest()

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what is kept, if it fits."""
        try:
            head, _, code = Path(bucket.key).read_bytes().partition(b"\n")
            if head == _head(bucket):
                bucket.code = marshal.loads(code)  # noqa: S302 - as safe as the modules beside it
        except FileNotFoundError:
            bucket.reset()
        except (OSError, EOFError, ValueError, TypeError) as error:
            log.debug("%s cannot be used: %s", bucket.key, error)
            bucket.reset()

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep it, whole or not at all."""
        if sys.dont_write_bytecode:
            return
        path = Path(bucket.key)
        draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
        try:
            path.parent.mkdir(exist_ok=True, parents=True)
            draft.write_bytes(_head(bucket) + b"\n" + marshal.dumps(bucket.code))
            os.replace(draft, path)
        except OSError as error:
            log.debug("%s is not kept: %s", path, error)


def _head(bucket: Bucket) -> bytes:
    """What a kept file begins with when it was made of this source, by this Jinja and Python, and
    with these options: one that escapes nothing never lends its code to one that does.
    """
    options = {
        name: value for name, value in sorted(vars(bucket.environment).items())
        if value is None or isinstance(value, bool | int | str)
    }  # fmt: skip
    made_by = f"{jinja2.__version__} {sys.version} {options} {bucket.checksum}"
    return sha256(made_by.encode()).hexdigest().encode()
