"""HTTP: a bulk end point as a sink, and somebody who is told of an ending."""
