"""Forms made from a JSON Schema: a value to fields, and what a person sent back to a value.

Everything goes by the form's *pairs* (name, text), as a browser sends them: a value becomes pairs
(`pairs`), pairs become fields (`inputs`), and what comes back is pairs again (`reading`), so
nothing that was typed is lost. `shapes` says which parts of a schema a form can express.
"""

from studio.web.forms.inputs import Field, again, fields
from studio.web.forms.reading import Action, read

__all__ = ["Action", "Field", "again", "fields", "read"]
