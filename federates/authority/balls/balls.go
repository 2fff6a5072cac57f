// Package balls says where the balls of a world begin that several servers compute together, what they are called, and from where each server looks.
package balls

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"metasim/federates/authority/interest"
	"metasim/federates/authority/transfer"
)

// Metre is one, in micrometres.
const Metre = 1_000_000

// A Field is the part of the square in which the balls of a server begin, and from whose middle it looks: a field of a chessboard that is just large enough.
type Field struct {
	Left, Lower, Wide int64 // micrometres
	side              int64
}

// FieldOf returns the field of a server, of all servers in order.
func FieldOf(servers []string, name string, side int64) Field {
	wide := int64(1)
	for wide*wide < int64(len(servers)) {
		wide++
	}
	at, field := int64(slices.Index(servers, name)), side/wide
	return Field{at % wide * field, at / wide * field, field, side}
}

// Middle is where the server looks from.
func (f Field) Middle() [2]int64 { return [2]int64{f.Left + f.Wide/2, f.Lower + f.Wide/2} }

// Ball draws where a ball begins, and its speed, up to 5 mm a step. A ball that rests has none, and comes to rest again.
func (f Field) Ball(seed uint64, name string, rests bool) transfer.Body {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes all
	draw := rand.New(rand.NewPCG(seed, h.Sum64()))
	speed := func() int64 { return draw.Int64N(10_001) - 5000 }
	b := transfer.Body{X: f.Left + draw.Int64N(f.Wide), Y: f.Lower + draw.Int64N(f.Wide), VX: speed(), VY: speed(), Side: f.side}
	if b.Slows = rests; rests {
		b.VX, b.VY = 0, 0
	}
	return b
}

// Name names the balls that a server begins with.
func Name(server string, i int64) string { return fmt.Sprintf("%s-%03d", server, i) }

// Sees are the rings of who sees so far each time: twice as far each fourth time, four times as far each twentieth.
func Sees(far int64) []interest.Ring {
	return []interest.Ring{{Within: far, Every: 1}, {Within: 2 * far, Every: 4}, {Within: 4 * far, Every: 20}}
}
