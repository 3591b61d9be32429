"""``python -m nersery`` is the command ``nersery``."""

from nersery.cli import main

main()
