"""The programs, such as fit, evaluate and predict, and the packages behind them."""

from datasets import let_interrupts_end_imports

let_interrupts_end_imports()
