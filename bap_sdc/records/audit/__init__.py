"""What a release tells about records that were held out, and about small groups of people."""
