"""`python -m studio` is the same command as `studio`."""

from studio.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
