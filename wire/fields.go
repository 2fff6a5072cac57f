package wire

// The fields of metasim.proto that this package encodes and decodes by hand: Frame and Packet, so that limits are checked
// before memory is allocated and errors name the packet; and the bodies of a running simulation, because there are
// millions of them. Tests compare each with the generated code.

// The kinds of fields in use: protowire.VarintType and protowire.BytesType as untyped constants.
const (
	varint  = 0
	counted = 2 // a length, then so many bytes
)

// The tags of Frame, Packet and the bodies: a field's number and kind. One byte is enough, as no number is above 15.
const (
	framePackets = 1<<3 | counted

	packetMember    = 1<<3 | varint
	packetHello     = 2<<3 | counted
	packetWelcome   = 3<<3 | counted
	packetStart     = 4<<3 | counted
	packetGoodbye   = 5<<3 | counted
	packetRefuse    = 6<<3 | counted
	packetSend      = 7<<3 | counted
	packetPromise   = 8<<3 | counted
	packetAdvance   = 9<<3 | counted
	packetPollWait  = 10<<3 | counted
	packetLeave     = 11<<3 | counted
	packetDeliver   = 12<<3 | counted
	packetAuthorize = 13<<3 | counted
	packetIntroduce = 14<<3 | counted

	instantTime     = 1<<3 | varint
	instantStep     = 2<<3 | varint
	instantInfinity = 3<<3 | varint

	reportNow          = 1<<3 | counted
	reportNoSendBefore = 2<<3 | counted
	reportNextEvent    = 3<<3 | counted
	reportAcked        = 4<<3 | varint

	sendChannel = 1<<3 | counted
	sendSent    = 2<<3 | counted
	sendPayload = 3<<3 | counted

	promiseNoSendBefore = 1<<3 | counted

	advanceReport   = 1<<3 | counted
	advanceComputed = 2<<3 | varint
	advanceCPU      = 3<<3 | varint

	pollWaitReport   = 1<<3 | counted
	pollWaitWant     = 2<<3 | counted
	pollWaitMessages = 3<<3 | varint
	pollWaitComputed = 4<<3 | varint
	pollWaitCPU      = 5<<3 | varint

	leaveNow    = 1<<3 | counted
	leaveAcked  = 2<<3 | varint
	leaveResult = 3<<3 | counted

	deliverNumber  = 1<<3 | varint
	deliverFrom    = 2<<3 | varint
	deliverSeq     = 3<<3 | varint
	deliverChannel = 4<<3 | counted
	deliverSent    = 5<<3 | counted
	deliverDue     = 6<<3 | counted
	deliverPayload = 7<<3 | counted

	authorizeUntil = 1<<3 | counted
	authorizeQuiet = 2<<3 | counted
)
