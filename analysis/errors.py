# SPDX-License-Identifier: Apache-2.0
"""The error that every command here turns into one line on standard error and exit status 2."""


class ResultError(Exception):
    """Input that is not what a command reads; the message is one line for the user: what, where, what is allowed."""
