"""Steps of torch.nn.Modules: their graphs, and steps that keep to a budget.

    graph = step_graph_of(module, inputs)          # for skyline.order, skyline.plan, skyline.budget
    with within(module, bytes, inputs=inputs):     # eager steps that recompute what does not fit
"""

from .traced_step import TracedStep, step_graph_of
from .within import Within, within

__all__ = ["TracedStep", "Within", "step_graph_of", "within"]
