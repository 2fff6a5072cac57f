// Package lcm reads and writes the formats of LCM (Lightweight Communications and Marshalling), so that recordings of
// real systems can be played into a run and looked at with the tools that exist. It needs nothing of LCM itself.
//
// # Event logs
//
// A log (.lcmlog, as the stock lcm-logger writes it) is a sequence of events without a header, a footer or checksums.
// Every event is, all integers big-endian:
//
//	u32 magic 0xEDA1DA01 | i64 number | i64 time, microseconds |
//	u32 length of the channel | u32 length of the payload | channel | payload
//
// The concatenation of two logs is a log. A reader that finds no magic where one is due looks for the next one: so
// does [Reader], and it says how much it passed over.
//
// The caller's duties: to ask [Reader.Skipped] at the end and say it where it is not 0; to bring the times into
// order, for which there is [Clock]; to give [NewWriter] something buffered where events are many.
package lcm
