package lcm_test

import (
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/client/typed/lcm"
	"metasim/lcm/types"
)

const poses = `package robot;
enum mode_t { IDLE = 0, MOVING = 1 }
struct pose_t {
    string  name;
    double  x;
    mode_t  mode;
    int32_t size;
    float   scan[size];
    byte    image[4];
    boolean level;
}
`

type pose struct {
	Name  string    `json:"name"`
	X     float64   `json:"x,format:nonfinite"`
	Mode  string    `json:"mode"`
	Size  int32     `json:"size"`
	Scan  []float32 `json:"scan"`
	Image []byte    `json:"image"`
	Level bool      `json:"level"`
}

func load(t *testing.T) *types.Set {
	file := filepath.Join(t.TempDir(), "pose.lcm")
	require.NoError(t, os.WriteFile(file, []byte(poses), 0o600))
	set, err := types.Load(file)
	require.NoError(t, err)
	return set
}

// A value travels as the bytes that lcm-gen's code would write, and comes back as it was.
func TestThereAndBack(t *testing.T) {
	codec, err := lcm.Of[pose](load(t), "robot.pose_t")
	require.NoError(t, err)
	for _, v := range []pose{
		{Name: "a", X: 1.5, Mode: "MOVING", Size: 2, Scan: []float32{1, -2}, Image: []byte{1, 2, 3, 4}, Level: true},
		{Name: "", X: math.Inf(1), Mode: "IDLE", Scan: []float32{}, Image: make([]byte, 4)},
	} {
		b, err := codec.Append([]byte("before"), v)
		require.NoError(t, err)
		require.Equal(t, "before", string(b[:6]))
		require.Equal(t, 8+4+len(v.Name)+1+8+4+4+4*len(v.Scan)+4+1, len(b)-6)
		back, err := codec.Decode(b[6:])
		require.NoError(t, err)
		require.Equal(t, v, back)
	}
	b, err := codec.Append(nil, pose{Mode: "IDLE", Image: make([]byte, 4)}) // nil is an empty array
	require.NoError(t, err)
	_, err = codec.Decode(b[:len(b)-1])
	require.ErrorContains(t, err, "the message is cut off")
}

// What does not fit is said with the name of the member.
func TestMismatches(t *testing.T) {
	set := load(t)
	_, err := lcm.Of[pose](set, "robot.pos_t")
	require.EqualError(t, err, `there is no LCM type "robot.pos_t"; did you mean "robot.pose_t"?`)
	codec, err := lcm.Of[pose](set, "robot.pose_t")
	require.NoError(t, err)
	_, err = codec.Append(nil, pose{Mode: "FLYING", Image: make([]byte, 4)})
	require.ErrorContains(t, err, `robot.pose_t.mode: robot.mode_t has no value "FLYING"`)
	_, err = codec.Append(nil, pose{Mode: "IDLE", Size: 1, Image: make([]byte, 4)})
	require.ErrorContains(t, err, `robot.pose_t.scan: it has 0 elements, and size says 1`)
	_, err = codec.Decode([]byte("no pose at all"))
	require.ErrorContains(t, err, "the fingerprint is")

	type half struct {
		Name string `json:"name"`
	}
	other, err := lcm.Of[half](set, "robot.pose_t")
	require.NoError(t, err)
	_, err = other.Append(nil, half{})
	require.ErrorContains(t, err, "the member x is missing; add it")
	b, err := codec.Append(nil, pose{Mode: "IDLE", Image: make([]byte, 4)})
	require.NoError(t, err)
	_, err = other.Decode(b)
	require.ErrorContains(t, err, `unknown object member name "x"`)
}
