"""What runs later: jobs, and the duties that they carry out."""
