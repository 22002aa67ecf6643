"""Export, calibration and serving of trained models."""

from datasets import let_interrupts_end_imports

let_interrupts_end_imports()
