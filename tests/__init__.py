"""Tests in folders by subject; `support` has what they share."""
