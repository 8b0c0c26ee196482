"""The intermediate representation: programs, how they are recorded, run, parsed and verified."""
