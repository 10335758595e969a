"""From plan nodes to operators: one function for each class of plan node, see :mod:`penstock.sql.planner`."""
