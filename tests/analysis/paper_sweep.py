# SPDX-License-Identifier: Apache-2.0
"""An invented result of the paper's sweep for which every claim holds, made by short formulas instead of a model."""

from synthetic import FACTORS, GB, MODELS, NONE, PCA, Point

ALEXNET_BYTES = 10 * GB  # its footprint; ten iterations move 200 times as much

BATCHES = (16, 32, 48, 64, 72, 80, 88, 96)
UNLIMITED_NS = 100_000_000  # per iteration, with PCA
KB_PER_TRANSACTION = 100


def bent(factor, bend, at_bend, at_end):
    """Returns a curve of two straight lines: 1 at the factor 1, `at_bend` at `bend`, `at_end` at 10."""
    if factor <= bend:
        return 1 + (at_bend - 1) * (factor - 1) / (bend - 1)
    return at_bend + (at_end - at_bend) * (factor - bend) / (10 - bend)


def slowdown(model, layout, factor):
    if factor <= 1:
        return 1
    if layout == NONE:
        return bent(factor, 5, 1.5, 17.85) if model == "alexnet" else bent(factor, 5, 1.2, 1.3)
    if model == "alexnet":
        return bent(factor, 5, 3, 57.74)
    if model == "whisper":
        return bent(factor, 6, 4, 26)
    return bent(factor, 5, 5.9, 12) if model.startswith("resnet") else bent(factor, 5, 3.7, 7)


def faults_of(layout, growth, factor):
    """Returns (fault batches per iteration, share of reads)."""
    if layout == NONE:
        return 6500 + 20 * factor, 0.01 * factor if factor > 1 else 0
    return 1500 * (growth - 1) ** 0.5, 0.2 + 0.03 * factor


def training_run(model, layout, osf):
    factor = osf or 0.5
    growth = slowdown(model, layout, factor)
    batches, read_share = faults_of(layout, growth, factor)
    reads = int(batches * read_share)
    moved = 0 if factor <= 1 else int(20 * ALEXNET_BYTES * factor / 10 / (1 if layout == PCA else 2.5))
    transfers = moved // (1000 * KB_PER_TRANSACTION)
    base_ns = UNLIMITED_NS * (7.22 if layout == NONE else 1)
    point = Point(
        model,
        layout,
        osf,
        int(base_ns * growth),
        fault_batches=int(batches),
        read_fault_batches=reads,
        write_fault_batches=int(batches) - reads,
        faulting_pages=40 * int(batches),
        fault_service_ns=100_000 * int(batches),
        kernel_compute_ns=UNLIMITED_NS,
        kernel_ns=int(base_ns * growth),
        htod_prefetch_bytes=moved // 2,
        htod_prefetch_transactions=transfers // 2,
        dtoh_evict_bytes=moved // 2,
        dtoh_evict_transactions=transfers // 2,
        htod_busy_ns=moved // 50,
        dtoh_busy_ns=moved // 50,
        reloaded_pages=moved // 2 // 4096,
        evictions=moved // 2 // (2 << 20),
    )
    if layout == PCA and factor <= 1:
        point.first_counters = {"fault_batches": 500, "write_fault_batches": 500, "fault_service_ns": 50_000_000}
    return point


def batch_run(batch, layout):
    point = Point(
        f"gpt2_b{batch}", layout, None, UNLIMITED_NS * batch // 8, kernel_compute_ns=UNLIMITED_NS * batch // 8
    )
    point.footprint_bytes = (1000 if layout == PCA else 980) * batch * GB // 1000
    return point


def paper_points():
    runs = [training_run(model, layout, osf) for model in MODELS for layout in (PCA, NONE) for osf in FACTORS]
    return runs + [batch_run(batch, layout) for batch in BATCHES for layout in (PCA, NONE)]
