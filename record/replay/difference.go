package replay

import "fmt"

// A Difference is where the replay is not what was recorded: the first place.
type Difference struct {
	Where string // "entry 17 (3.2ms after the run began, poll of \"b\")", "message 3 of \"b\""
	Then  string // what was recorded
	Now   string // what the replay came to
}

func (d *Difference) Error() string {
	return fmt.Sprintf("replay: %s is not what it was: then %s; now %s", d.Where, d.Then, d.Now)
}
