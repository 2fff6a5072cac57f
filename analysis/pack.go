package analysis

import "fmt"

// Pack predicts what the run takes on each number of cores of r.Bounds, and fills it in. It looks at the beginning of a
// long run only, as Rank does, and leaves the predictions out where the run cannot be played.
//
// Each is measured against a prediction for the cores that there were: all that a prediction does not know of costs both.
func (t *Timeline) Pack(r *Report) {
	l := t.beginning()
	base, err := t.fit(l)
	if err != nil {
		return
	}
	play := func(cores int) (took int64, ok bool) {
		change, err := t.ParseChange(fmt.Sprint("cores=", cores))
		if err != nil {
			return 0, false
		}
		took, _, err = t.play(l, []Change{change})
		return took, err == nil && took > 0
	}
	for i := range r.Bounds {
		if took, ok := play(r.Bounds[i].Cores); ok {
			r.Bounds[i].PlayedS = r.WallS * float64(took) / float64(base)
		}
	}
}
