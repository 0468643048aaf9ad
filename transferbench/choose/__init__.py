"""Compare models on one problem without labels of its target, and recommend one."""
