"""Plans, orders and budgets of memory, with lower bounds and proofs.

    plan(blocks)           an offset for each block
    check(blocks, offsets) whether a plan is valid, by code that planners do not share
    replay(blocks)         what allocators would reserve for the same requests
    order(graph)           the sequence of a step's ops with the least peak
    budget(graph, bytes)   what a step recomputes to fit into fewer bytes

Blocks are rows of lower, upper and size (see skyline.traces), a graph is a StepGraph. The function
skyline.pytorch.step_graph_of reads one from a torch.nn.Module; skyline.pytorch.within runs eager
steps within given bytes; `python -m skyline.fits` tells whether a script's step fits.

All bytes are whole numbers. Bad input raises ValueError, which names the row or the op. Solving
releases the interpreter for other threads, and Ctrl-C ends it.
"""

from ._memory import __version__, algorithms, allocators, planners
from .graphs import Budget, BudgetPoint, Order, StepGraph, budget, order
from .traces import Check, Plan, Replay, check, plan, replay

__all__ = [
    "Budget", "BudgetPoint", "Check", "Order", "Plan", "Replay", "StepGraph", "algorithms",
    "allocators", "budget", "check", "order", "plan", "planners", "replay",
]
