"""JSON as it is written, for those who look through it without decoding it."""

# A string. One that does not end goes on to the end of the text: a search that failed there would
# begin anew at each quote inside, and take a time that grows with the square of the text.
STRING = rb'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)'
