"""What a deployment promises, described for people and machines."""
