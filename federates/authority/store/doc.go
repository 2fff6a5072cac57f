// Package store keeps a metadata tree (package tree) in a key-value store: in a file, in an etcd cluster, or in memory.
//
// The store holds the log of the commands and, now and then, a snapshot. Each member has the whole tree in memory, and follows the log. A write is one batch: it
// appends a command under the condition that the log still ends where the writer saw it end. So all members see the same commands in the same order, and a
// majority of the key-value store decides, where it has several members. There is no consensus here.
//
// The caller's duties:
//
//  1. A context bounds each call; Config.Timeout bounds those whose context does not.
//  2. After ErrUnavailable from a write its outcome is not known: it may have been done. Write so that it can be done again (tree.Create, tree.Swap), or look.
//  3. Procedures run at least once, on one member: they must bear to run twice. Their errors are logged, and they are not run again.
package store
