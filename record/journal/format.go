package journal

import "hash/crc32"

const (
	// Version is the version of the file format. A journal of another version is refused with both numbers.
	Version = 1
	// MaxRecord is the largest body of a record in bytes: the largest LCM message (256 MiB), and a megabyte beside it.
	MaxRecord = 1<<28 + 1<<20

	magic      = "MSIMJRNL"
	headerSize = len(magic) + 4 // and the version
	frameSize  = 8              // length and checksum before each body
)

// The kinds of record.
const (
	step   = 1 // one event, and what followed from it at once
	settle = 2 // what followed from a batch of events
	more   = 3 // more effects of the record before
)

// castagnoli is never changed.
var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// The numbers of the fields of a Record. An event's number tells its type; likewise an effect's in an Effect.
const (
	recordKind, recordWall, recordEffects = 1, 2, 15

	joinField, beginField, sendField, promiseField       = 3, 4, 5, 6
	advanceField, pollWaitField, leaveField, permitField = 7, 8, 9, 10

	queueField, loseField, deliverField, authorizeField = 1, 2, 3, 4
	evictField, reachedField, finishField               = 5, 6, 7
)
