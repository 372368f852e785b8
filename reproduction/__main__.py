"""``python -m reproduction``: the paper's tables and figures, from records or computed again."""

from reproduction.cli import main

if __name__ == "__main__":
    main()
