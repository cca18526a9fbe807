"""Errors that a user can cause and mend."""


class NMTError(Exception):
    """A user's mistake: the message is one line saying what was wrong, the value received and what to do.

    Commands print it to stderr without a traceback and exit with status 1.
    """
