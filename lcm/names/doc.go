// Package names has the URLs of LCM networks and the names of channels on them: [Parse] parses a URL, [CheckChannel] checks a
// channel, and [Naming] names the channels on which the messages of a run are shown. It opens no network, so that a
// scenario can be checked without the code of networks.
package names
