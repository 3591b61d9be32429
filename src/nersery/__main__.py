"""``python -m nersery`` is the command ``nersery``. The installed command starts here, too."""

import os
import sys

if __name__ == "__main__" and not sys.flags.safe_path and sys.path[0] != os.path.dirname(os.path.dirname(__file__)):
    del sys.path[0]  # the current folder, in which a file such as random.py would replace the module of this name

import signal

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # so that Ctrl-C during the imports prints no traceback

from nersery.cli.main import main

if __name__ == "__main__":
    main()
