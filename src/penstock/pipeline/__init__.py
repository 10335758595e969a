"""The coordinator's side: declaring pipelines, running them, durability and reading."""
