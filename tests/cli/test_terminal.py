"""Text for people: in columns, plain, and coloured only where it is seen."""

import io

from studio.cli.terminal import Terminal, plain


class Shown(io.StringIO):
    """A terminal's end."""

    def isatty(self) -> bool:
        return True


def terminal(*, colours: bool = False, width: int | None = None, answer: str = "") -> Terminal:
    return Terminal(
        out=io.StringIO(), err=io.StringIO(), inp=Shown(answer), colours=colours, width=width
    )


def text(made: Terminal) -> str:
    assert isinstance(made.out, io.StringIO)
    return made.out.getvalue()


def test_what_could_act_on_the_terminal_is_shown():
    assert plain("a\x1b[2Jb\x07\u202ec\u200bd\x9b") == (
        "a\\u001b[2Jb\\u0007\\u202ec\\u200bd\\u009b"
    )


def test_other_scripts_stay_as_they_are():
    assert plain("Grüße 東京 \N{GRINNING FACE}") == "Grüße 東京 \N{GRINNING FACE}"


def test_line_breaks_stay_only_where_lines_are_meant():
    assert plain("a\nb\tc") == "a\\nb\\tc"
    assert plain("a\nb", lines=True) == "a\nb"


def test_columns_are_as_wide_as_they_must_be():
    made = terminal()

    made.table(("A", "LONG"), [("東京", "x"), ("b", "yy")], none="nothing")

    assert text(made) == "A     LONG\n東京  x\nb     yy\n"


def test_an_empty_table_is_a_sentence():
    made = terminal()

    made.table(("A",), [], none="Nothing waits.")

    assert text(made) == "Nothing waits.\n"


def test_the_last_column_is_cut_to_the_terminal():
    made = terminal(width=20)

    made.table(("A", "B"), [("x", "y" * 50)], none="")

    assert text(made).splitlines()[1] == "x  " + "y" * 16 + "…"


def test_nothing_is_cut_when_a_program_reads():
    made = terminal(width=None)

    made.table(("A", "B"), [("x", "y" * 500)], none="")

    assert "y" * 500 in text(made)


def test_colour_is_only_where_it_is_wanted():
    plainly, coloured = terminal(), terminal(colours=True)

    for one in (plainly, coloured):
        one.pairs([("state", "held")])

    assert "\x1b" not in text(plainly)
    assert "\x1b[33mheld\x1b[0m" in text(coloured)


def test_a_name_from_elsewhere_cannot_colour_itself():
    made = terminal(colours=True)

    made.table(("A", "B"), [("\x1b[31mx", "y")], none="")

    assert "\\u001b[31mx" in text(made)


def test_a_question_is_asked_beside_the_answer():
    made = terminal(answer="yes\n")

    assert made.ask("Sure? ") == "yes"
    assert text(made) == ""
