"""A page as a test reads it: elements by role and text, forms as what a browser would send."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from urllib.parse import urljoin

VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())
ROLES = {"link": "a", "button": "button", "heading": "h1 h2 h3", "row": "tr", "article": "article"}


@dataclass
class Element:
    """One element, with what is in it."""

    tag: str
    attrs: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)
    parent: "Element | None" = None
    address: str = ""  # of a page

    @property
    def text(self) -> str:
        """The text in it, on one line."""
        parts = (child if isinstance(child, str) else child.text for child in self.children)
        return " ".join(" ".join(parts).split())

    def walk(self) -> Iterator["Element"]:
        """This element and all that is below it; what a template holds is not part of the page."""
        yield self
        if self.tag == "template":
            return
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    @property
    def leads(self) -> str:
        """Where a link leads, joined with the address of its page, without the place in it."""
        page = self
        while page.parent is not None:
            page = page.parent
        address = page.address.partition("?")[0]
        return urljoin(address, self.attrs["href"].partition("#")[0])

    def all(self, tag: str = "", **attrs: str) -> list["Element"]:
        """The elements of this tag that have these attributes; `_` stands for `-`."""
        wanted = {name.rstrip("_").replace("_", "-"): value for name, value in attrs.items()}
        return [
            element
            for element in self.walk()
            if (not tag or element.tag == tag)
            and all(element.attrs.get(name) == value for name, value in wanted.items())
        ]

    def role(self, role: str, text: str = "") -> list["Element"]:
        """The elements of a role that hold this text."""
        tags = ROLES[role].split()
        return [item for item in self.walk() if item.tag in tags and text in item.text]

    def one(self, tag: str = "", **attrs: str) -> "Element":
        """The only such element."""
        (found,) = self.all(tag, **attrs)
        return found

    def form(self, action: str) -> "Element":
        """The form that posts to an address ending like this."""
        posts = self.all("form", method="post")
        (found,) = [form for form in posts if form.attrs["action"].endswith(action)]
        return found

    def fields(self) -> dict[str, str]:
        """What a form would send if nobody touched it, without its buttons."""
        sent = {}
        for item in self.walk():
            if item.tag == "textarea":
                sent[item.attrs["name"]] = "".join(map(str, item.children)).removeprefix("\n")
            elif item.tag == "select":
                chosen = item.all("option", selected="") or item.all("option")
                sent[item.attrs["name"]] = chosen[0].attrs.get("value", chosen[0].text)
            elif item.tag == "input" and "name" in item.attrs:
                ticks = item.attrs.get("type") in ("checkbox", "radio")
                if not ticks or "checked" in item.attrs:
                    sent[item.attrs["name"]] = item.attrs.get("value", "")
        return sent


class _Reader(HTMLParser):
    def __init__(self, address: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document", address=address)
        self.at = self.root

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs}, parent=self.at)
        self.at.children.append(element)
        if tag not in VOID:
            self.at = element

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        place: Element | None = self.at
        while place is not None and place.tag != tag:
            place = place.parent
        if place is not None and place.parent is not None:
            self.at = place.parent

    def handle_data(self, data: str) -> None:
        self.at.children.append(data)


def read(text: str, address: str = "/") -> Element:
    """The page of this HTML, which stands at that address."""
    reader = _Reader(address)
    reader.feed(text)
    return reader.root
