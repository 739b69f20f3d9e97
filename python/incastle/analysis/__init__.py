"""Statistics of results: completion times, measures, intervals over seeds. Nothing is run here."""
