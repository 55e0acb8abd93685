import sys

from dev.main import main

sys.exit(main(sys.argv[1:]))
