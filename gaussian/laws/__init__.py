"""Laws of the statistics that are released or tested, given the parameter, each with its error."""
