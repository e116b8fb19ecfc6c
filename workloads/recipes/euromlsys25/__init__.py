# SPDX-License-Identifier: Apache-2.0
"""The six programs of the EuroMLSys '25 paper, one file each; `python3 -m euromlsys25 MODEL` trains one."""
