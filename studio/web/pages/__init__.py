"""The pages, one file a noun; the same nouns name `templates/` and `tests/web/`."""
