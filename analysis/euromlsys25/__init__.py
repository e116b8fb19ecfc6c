# SPDX-License-Identifier: Apache-2.0
"""Claims and figures of "Understanding Oversubscribed Memory Management for Deep Learning Training" (EuroMLSys '25)."""
