"""A QUIC stack's reader of qlog judges what `sojourn run --qlog` writes."""
