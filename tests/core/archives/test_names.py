"""Where a path and a link may lead: never out, also not by way of another link."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from studio.core.archives import names
from studio.core.archives.entries import Bad, Entry
from studio.core.archives.layout import Layout


@pytest.mark.parametrize(
    "path", ["a", "a/b.txt", "…", "a b", "-rf", "ab:c", "con", ".hidden", "..."]
)
def test_paths_inside(path: str):
    assert names.fault(path) is None


@pytest.mark.parametrize(
    "path,target", [("l", "a"), ("l", "./a/b"), ("a/l", "../b"), ("a/b/l", "../../c"), ("l", "a/")]
)
def test_links_inside(path: str, target: str):
    assert names.target_fault(path, target) is None


@pytest.mark.parametrize("target", ["/usr/bin/python3", "/usr/local/bin/python3.12", "/bin/sh"])
def test_a_link_to_a_program_of_the_system_is_kept(target: str):
    assert names.target_fault(".venv/bin/python", target) is None


@pytest.mark.parametrize(
    "target",
    ["/etc/passwd", "/usr", "/usr/", "/usr/../etc/passwd", "/usr/./bin", "/home/x", "/usr\\x",
     "//usr/bin/x", "/proc/self/root", "/usr/bin/..", "/lib64/../root", "/usrx/bin"],
)  # fmt: skip
def test_no_other_absolute_link_is(target: str):
    assert "leads out" in str(names.target_fault("l", target))


PARTS = st.sampled_from(["a", "b", "c", "..", ".", ""])
TARGETS = st.lists(PARTS, min_size=1, max_size=5).map("/".join)


@given(st.dictionaries(st.sampled_from(["l", "a/l", "a/b/l", "a/m", "m", "b/l"]), TARGETS))
def test_no_set_of_links_that_is_taken_leads_out(tmp_path_factory, links: dict[str, str]):
    """Each link is followed by the system itself, from a folder that stands in another."""
    top = tmp_path_factory.mktemp("links") / "outside" / "top"
    for folder in ("a/b/c", "b", "c"):
        (top / folder).mkdir(parents=True)
    layout = Layout()
    taken = []
    for path, target in links.items():
        try:
            layout.add(Entry(path=path, type="link", mode=0o777, mtime_ns=0, target=target))
        except Bad:
            continue
        (top / path).symlink_to(target)
        taken.append(path)

    for path in taken:
        assert Path(os.path.realpath(top / path)).is_relative_to(top)


@given(st.lists(st.sampled_from(["a", "A", "b", "ä", "a\u0308"]), min_size=2, max_size=4))
def test_two_names_that_are_one_somewhere_are_refused(parts: list[str]):
    layout = Layout()
    told = [Entry(path=part, type="file", mode=0o644, mtime_ns=0) for part in parts]
    alike = len({names.folded(part) for part in parts}) < len(parts)

    refused = ""
    try:
        for entry in told:
            layout.add(entry)
    except Bad as wrong:
        refused = wrong.words

    assert bool(refused) == alike
    assert not alike or "capitals" in refused or "twice" in refused


def test_a_folder_may_be_told_after_what_lies_in_it_but_once():
    layout = Layout()
    folder = Entry(path="a", type="folder", mode=0o755, mtime_ns=0)
    layout.add(Entry(path="a/b", type="file", mode=0o644, mtime_ns=0))
    layout.add(folder)

    with pytest.raises(Bad, match="twice"):
        layout.add(folder)
