"""``python -m adasent`` is ``adasent``."""

from adasent.cli import main

if __name__ == "__main__":
    main()
