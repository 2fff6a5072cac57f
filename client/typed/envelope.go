package typed

import (
	"encoding/binary"
	"errors"
	"fmt"
	"regexp"
)

// The kinds of an answer.
const (
	answered byte = 0
	refusal  byte = 1
)

// The sizes of what is before a request, and of what is before the name of an answer.
const (
	numberSize = 8
	replySize  = numberSize + 1 + 2
)

var errEnvelope = errors.New("it does not begin as one; channels that begin with call: or reply: are those of typed.Answer and typed.NewCaller")

// channels returns the channels of a service. Those of two services never are the same.
func channels(service string) (call, reply string, err error) {
	if service == "" || regexp.QuoteMeta(service) != service {
		return "", "", fmt.Errorf(`a service cannot be called %q; use a name without the characters of regular expressions, \.+*?()|[]{}^$`, service)
	}
	return "call:" + service, "reply:" + service, nil
}

// appendReply appends what is before an answer.
func appendReply(b []byte, number uint64, kind byte, to string) []byte {
	b = append(binary.LittleEndian.AppendUint64(b, number), kind)
	return append(binary.LittleEndian.AppendUint16(b, uint16(len(to))), to...) // names have at most 1024 bytes
}

// parseReply reads what appendReply has written, and returns what follows.
func parseReply(b []byte) (number uint64, kind byte, to string, body []byte, ok bool) {
	if len(b) < replySize {
		return 0, 0, "", nil, false
	}
	number, kind = binary.LittleEndian.Uint64(b), b[numberSize]
	size := int(binary.LittleEndian.Uint16(b[numberSize+1:]))
	if b = b[replySize:]; kind > refusal || size > len(b) {
		return 0, 0, "", nil, false
	}
	return number, kind, string(b[:size]), b[size:], true
}
