"""Tests in folders by subject; `support` has shared helpers."""
