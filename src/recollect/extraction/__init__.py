"""What a text claims and tells, by rule and by model. Rules of a language are data files."""
