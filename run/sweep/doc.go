// Package sweep carries out a scenario many times, each time with other values of what it varies.
//
// A sweep is a directory. sweep.json says what it is, results.jsonl has a line for each run that has ended, in the order in which they ended, and
// table.csv is made of that. So the same sweep goes on after it was cut off at any moment: what has a line is done, and the rest is done
// again, as a run depends on nothing but its scenario. One process at a time works in a directory, unless its workers share it: then they claim runs by
// renaming files, and results.jsonl is made of what they have published.
package sweep
