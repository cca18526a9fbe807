"""Systems held against each other: measured alike, tested for luck, shown in one table and one report."""
