"""Conditions of a study: stated in the words of its columns, solved part by part, proved part by part."""
