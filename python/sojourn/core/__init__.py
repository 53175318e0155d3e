"""What every other room uses: scenarios, records, their fields and units, statistics, files and errors."""
