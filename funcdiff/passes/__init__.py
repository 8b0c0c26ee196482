"""Optimises programs: passes return equal programs that are cheaper or better behaved."""
