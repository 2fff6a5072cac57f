// Package catalog describes the built-in models as data: the name of each, its parameters with their types, defaults and
// bounds, and which of them are channels that it publishes or subscribes to. A scenario is checked against it without
// linking the code of any model; package federates makes the models run.
//
// The table is in models.go. Most of an element is plain data: a parameter of type [Channel] or [Channels] is a publication,
// one of type [Pattern] or [Patterns] is a subscription. Where the ports of a model depend on more (the events of a log, the
// number of clients of an entry) or two parameters must fit together, its element names a function of this package.
//
// [Models] lists the table, [Make] checks the parameters of one client and returns what the model needs to run, and
// [Inspect] does the same for those who want the [Ports] alone.
package catalog
