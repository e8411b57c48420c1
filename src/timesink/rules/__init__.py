"""Rules: pure functions from what was measured to findings, with their titles and advice.

What a rule needs is measured in `analyses`; how a finding is worded stands in `answers`.
"""
