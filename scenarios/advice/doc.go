// Package advice looks at a scenario for what keeps its clients from computing at the same time, as far as that can be known
// before it runs. A report of the run gives advice of the same kinds, and knows what each would gain.
package advice
