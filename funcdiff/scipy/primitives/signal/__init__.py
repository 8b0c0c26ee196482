"""Operations of ``scipy.fft`` and ``scipy.signal``: cosine transforms and recursive filters."""
