// Package names knows the names of LCM networks and of channels on them: [Parse] reads the URL of a network,
// [CheckChannel] says whether a channel can be there, and [Naming] makes the channels on which the messages of a run are
// shown. It opens nothing, so that a scenario can be checked without the code of any network.
package names
