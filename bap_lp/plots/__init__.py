"""Pictures: problems, paths and mechanisms come in, matplotlib Axes go out. Labels never overlap."""

from bap_lp.plots.channel_pictures import channel_heatmap, signal_cards
from bap_lp.plots.maps import risk_utility_map, value_of_lambda

__all__ = ["channel_heatmap", "risk_utility_map", "signal_cards", "value_of_lambda"]
