"""Checks the files of `sojourn run --qlog` with the qlog reader of a QUIC stack."""
