// Package script runs data-driven tests: a story a file, in which commands stand above what they print.
//
//	# Two clients, five apart.
//	new clients=a,b
//	safe
//	----
//	a 5ns
//	b 5ns
//
// A script is a list of blocks. A block is one or more commands, one a line, then a line of four dashes, then what the
// commands print together, up to a blank line or the end of the file. Lines that begin with # are comments, wherever
// commands may stand. A command is a name followed by words: "key=value" is an argument, anything else stands for
// itself. Words are split at spaces; there are no quotes.
//
// With the flag -rewrite a test writes what was printed into the file instead of comparing. Read the difference before
// you commit it: the file then says what is, not what should be.
//
// # Duties of the caller
//
// The handler prints the same for the same commands, never prints a blank line (it would end the block), and asks for
// every argument that a command may have: a word that nobody asked for fails the test, so that a misspelt one is not
// lost.
package script
