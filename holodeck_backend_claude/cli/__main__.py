"""``python -m holodeck_backend_claude.cli`` is ``holodeck-claude``."""

import sys

from holodeck_backend_claude.cli import main

sys.exit(main())
