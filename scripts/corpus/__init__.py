"""The generator of the built-in English–French corpus: lexicon, morphology, phrases, clauses, templates."""
