"""``python -m nersery`` is the command ``nersery``. The installed command starts here, too."""

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that Ctrl-C during the imports prints no traceback

from nersery.cli.main import main

if __name__ == "__main__":
    main()
