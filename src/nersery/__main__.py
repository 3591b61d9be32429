"""``python -m nersery`` is the command ``nersery``."""

from nersery.cli.main import main

main()
