"""Why a claim does not hold, or holds only in part: one text per claim, each with the experiment that shows it.

A text is printed only beside a verdict other than "holds"; verdicts come from the rules alone (claims.py).
"""

EXPLANATIONS = {}
