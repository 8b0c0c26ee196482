"""Log-densities for samplers: containers with constraints as unconstrained vectors."""
