// Package lcm has the codec of values that travel as messages of LCM, by .lcm files that are read when the program starts: no code
// is generated.
//
//	set, err := types.Load("types")             // metasim/lcm/types
//	codec, err := lcm.Of[Pose](set, "robot.pose_t")
//	out := typed.Publish(b, "POSE", codec)
//
// The Go type has a field for each member, with the member's name in its tag; encoding goes through JSON as package metasim/lcm/types has it:
//
//	type Pose struct {
//		Name  string    `json:"name"`
//		X     float64   `json:"x,format:nonfinite"` // without nonfinite an infinity or a NaN is an error
//		Mode  string    `json:"mode"`               // an enum: the name of its value
//		Size  int32     `json:"size"`
//		Scan  []float32 `json:"scan"`               // float scan[size]: Size and len(Scan) have to agree
//		Image []byte    `json:"image"`              // byte image[16]
//	}
//
// A member without a field, and a field without a member, is an error at the first message.
package lcm

import (
	"fmt"

	"github.com/go-json-experiment/json"

	"metasim/client/typed"
	"metasim/internal/suggest"
	"metasim/lcm/types"
)

// Of returns the codec of the type that .lcm files call name, with its package: "robot.pose_t".
func Of[T any](set *types.Set, name string) (typed.Codec[T], error) {
	t := set.Lookup(name)
	if t == nil {
		var names []string
		for _, t := range set.Types() {
			names = append(names, t.Name)
		}
		return nil, fmt.Errorf("there is no LCM type %q; %s", name, suggest.Word(name, names))
	}
	return codec[T]{t}, nil
}

type codec[T any] struct{ kind *types.Type }

func (c codec[T]) Append(dst []byte, value T) ([]byte, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return dst, err
	}
	b, err := c.kind.Encode(text)
	return append(dst, b...), err
}

func (c codec[T]) Decode(payload []byte) (value T, err error) {
	text, err := c.kind.AppendJSON(nil, payload)
	if err != nil {
		return value, err
	}
	return value, json.Unmarshal(text, &value, json.RejectUnknownMembers(true))
}
