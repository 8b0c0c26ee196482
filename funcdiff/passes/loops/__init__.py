"""Loops of programs: what needs no loop is taken out of one."""
