# SPDX-License-Identifier: Apache-2.0
"""The error that every command turns into one line on standard error and exit status 2."""


class ResultError(Exception):
    """Invalid input of a command; the message is one line for the user: what, where, what is allowed."""
