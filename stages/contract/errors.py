"""Errors that a person can act on."""


class InputError(ValueError):
    """The input is at fault, not the program: printed as one message, without a traceback.

    The message says what was expected, what arrived, where, and what to do next.
    """
