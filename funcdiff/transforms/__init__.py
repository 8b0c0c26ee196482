"""The four transforms from programs to programs, each memoised by the program's value."""
