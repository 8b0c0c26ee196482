"""The folder that processes started by a program for autograd find `autograd` in."""
