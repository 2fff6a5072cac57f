// Package tree is the metadata of an authority: a tree of nodes with payloads, and the commands that change it.
//
// It has the features of Khepri (github.com/rabbitmq/khepri), over values of Go: paths, versions of payloads and of lists of children, patterns with
// conditions, nodes that are kept while a condition holds, transactions, triggers, projections, snapshots, export and import.
//
// The room is pure: no clock, no network, no map order. A Command is a value that can be encoded. Trees that applied the same commands in the same
// order are equal, so a log of commands rebuilds a tree (package store keeps such a log). A command that returns an error has changed nothing.
//
// The caller's duties:
//
//  1. One goroutine at a time uses a Tree.
//  2. All members of a store have the same Limits: what is refused depends on them.
//  3. The firings of a Result are run in their order, at least once, by one member.
//  4. A command that ends a session is applied when the process that opened the session has ended.
package tree
