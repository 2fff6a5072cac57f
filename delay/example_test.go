package delay_test

import (
	"fmt"

	"metasim/delay"
	"metasim/metasim"
)

// An ordered line: the second message queues behind the first, and may not overtake it on the way.
func ExampleNewTable() {
	table, err := delay.NewTable(1, []delay.Rule{
		{Spec: delay.Spec{Delay: delay.Constant(5 * metasim.Millisecond)}},
		{From: "camera-*", Channel: "VIDEO", Spec: delay.Spec{
			Delay:     delay.Exponential{Mean: 20 * metasim.Millisecond, Min: new(5 * metasim.Millisecond)},
			Order:     delay.FIFO,
			Bandwidth: 8e6, // a byte a microsecond
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	l := table.Link("camera-0", "viewer", "VIDEO")
	fmt.Println("lookahead", l.Min())
	for n := range uint64(2) {
		fmt.Println("earliest", l.Earliest(metasim.Start), "due", l.Transit(nil, n, metasim.Start, 1000))
	}
	// Output:
	// lookahead 5ms
	// earliest 10.229365ms due [11.229365ms]
	// earliest 11.229365ms due [11.229365ms]
}
