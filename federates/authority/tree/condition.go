package tree

import (
	"cmp"
	"fmt"
	"regexp"
)

// A Test says what a condition looks at.
type Test string

// The tests.
const (
	TestName             Test = "name"               // the component of the node is Text
	TestNameMatches      Test = "name-matches"       // its name matches the regular expression Text; empty: any name
	TestPathMatches      Test = "path-matches"       // likewise, and nodes at any depth below are looked at too
	TestHasPayload       Test = "has-payload"        // it has a payload, or, if Not, none
	TestHasData          Test = "has-data"           // the same for data
	TestHasProcedure     Test = "has-procedure"      // the same for a procedure
	TestDataMatches      Test = "data-matches"       // its data are JSON that matches Text and Guards
	TestNodeExists       Test = "node-exists"        // it exists, or, if Not, it does not
	TestPayloadVersion   Test = "payload-version"    // compares with Number
	TestChildListVersion Test = "child-list-version" // compares with Number
	TestChildListLength  Test = "child-list-length"  // compares with Number
	TestNot              Test = "not"                // the one condition of Of is not met
	TestAll              Test = "all"                // all conditions of Of are met
	TestAny              Test = "any"                // one condition of Of is met
)

// A Condition is met by a node, or is not. The functions below make one.
type Condition struct {
	Test    Test        `json:"test"`
	Text    string      `json:"text,omitempty"`
	Not     bool        `json:"not,omitempty"` // of the tests that say so
	Compare Comparison  `json:"compare,omitempty"`
	Number  uint64      `json:"number,omitempty"`
	Guards  []Guard     `json:"guards,omitempty"`
	Of      []Condition `json:"of,omitempty"`
}

// Is is met by the node with this component, as it is written in a path.
func Is(component string) Condition { return Condition{Test: TestName, Text: component} }

// NameMatches is met by names that match a regular expression (RE2); "" matches any.
func NameMatches(expression string) Condition {
	return Condition{Test: TestNameMatches, Text: expression}
}

// PathMatches is NameMatches for nodes at any depth.
func PathMatches(expression string) Condition {
	return Condition{Test: TestPathMatches, Text: expression}
}

// HasPayload is met by nodes with a payload, or by those without.
func HasPayload(yes bool) Condition { return Condition{Test: TestHasPayload, Not: !yes} }

// HasData is met by nodes with data, or by those without.
func HasData(yes bool) Condition { return Condition{Test: TestHasData, Not: !yes} }

// HasProcedure is met by nodes with a procedure, or by those without.
func HasProcedure(yes bool) Condition { return Condition{Test: TestHasProcedure, Not: !yes} }

// DataMatches is met by data that are JSON and match a pattern: JSON too, in which "_" stands for any value and "$1", "$2" for one that the guards name.
// An object matches if it has the members of the pattern; it may have more.
func DataMatches(pattern string, guards ...Guard) Condition {
	return Condition{Test: TestDataMatches, Text: pattern, Guards: guards}
}

// NodeExists is met by a node that is there, or by one that is not.
func NodeExists(yes bool) Condition { return Condition{Test: TestNodeExists, Not: !yes} }

// PayloadVersion compares the version of a payload.
func PayloadVersion(c Comparison, version uint64) Condition {
	return Condition{Test: TestPayloadVersion, Compare: c, Number: version}
}

// ChildListVersion compares the version of the list of children.
func ChildListVersion(c Comparison, version uint64) Condition {
	return Condition{Test: TestChildListVersion, Compare: c, Number: version}
}

// ChildListLength compares the number of children.
func ChildListLength(c Comparison, children uint64) Condition {
	return Condition{Test: TestChildListLength, Compare: c, Number: children}
}

// Not is met where the condition is not.
func Not(c Condition) Condition { return Condition{Test: TestNot, Of: []Condition{c}} }

// All is met where all conditions are.
func All(of ...Condition) Condition { return Condition{Test: TestAll, Of: of} }

// Any is met where one condition is.
func Any(of ...Condition) Condition { return Condition{Test: TestAny, Of: of} }

// component returns the component that a condition asks for, if it asks for one.
func (c *Condition) component() (string, bool) {
	if c.Test == TestName {
		return c.Text, true
	}
	if c.Test == TestAll {
		for i := range c.Of {
			if name, ok := c.Of[i].component(); ok {
				return name, true
			}
		}
	}
	return "", false
}

// recursive reports whether a condition looks at nodes at any depth.
func (c *Condition) recursive() bool {
	if c.Test == TestPathMatches {
		return true
	}
	for i := range c.Of {
		if c.Of[i].recursive() {
			return true
		}
	}
	return false
}

// A check is a condition that is ready to be used.
type check struct {
	*Condition
	expression *regexp.Regexp
	data       any
	guards     []guard
	of         []check
}

// ready checks a condition, and prepares it.
func (c *Condition) ready(nesting int) (check, error) {
	k := check{Condition: c}
	var err error
	switch c.Test {
	case TestName:
		if err := checkComponent(c.Text); err != nil {
			return k, err
		}
	case TestNameMatches, TestPathMatches:
		if len(c.Text) > maxText {
			return k, fmt.Errorf("%w: a regular expression has %d bytes, at most %d", ErrCondition, len(c.Text), maxText)
		}
		if k.expression, err = regexp.Compile(c.Text); err != nil {
			return k, fmt.Errorf("%w: %w", ErrCondition, err)
		}
	case TestDataMatches:
		if len(c.Text) > maxText {
			return k, fmt.Errorf("%w: a pattern of data has %d bytes, at most %d", ErrCondition, len(c.Text), maxText)
		}
		if k.data, k.guards, err = readyData(c.Text, c.Guards); err != nil {
			return k, err
		}
	case TestPayloadVersion, TestChildListVersion, TestChildListLength:
		if !c.Compare.valid() {
			return k, fmt.Errorf("%w: %s compares with %q; it is eq, ne, lt, le, gt or ge", ErrCondition, c.Test, clip(string(c.Compare)))
		}
	case TestHasPayload, TestHasData, TestHasProcedure, TestNodeExists:
	case TestNot, TestAll, TestAny:
		return k, k.readyOf(nesting)
	default:
		return k, fmt.Errorf("%w: there is no test %q", ErrCondition, clip(string(c.Test)))
	}
	return k, nil
}

// readyOf prepares the conditions within a condition.
func (k *check) readyOf(nesting int) error {
	switch n := len(k.Of); {
	case nesting >= maxNesting:
		return fmt.Errorf("%w: conditions are nested more than %d deep", ErrCondition, maxNesting)
	case n > maxParts:
		return fmt.Errorf("%w: %s has %d conditions, at most %d", ErrCondition, k.Test, n, maxParts)
	case n == 0 || n > 1 && k.Test == TestNot:
		return fmt.Errorf("%w: %s has %d conditions; not takes one, all and any take one or more", ErrCondition, k.Test, n)
	}
	for i := range k.Of {
		inner, err := k.Of[i].ready(nesting + 1)
		if err != nil {
			return err
		}
		k.of = append(k.of, inner)
	}
	return nil
}

// met reports whether a node meets a condition. node is nil for one that is not there.
func (k *check) met(component string, node *Node) bool {
	switch k.Test {
	case TestName:
		return component == k.Text
	case TestNameMatches, TestPathMatches:
		return k.expression.MatchString(Path("/" + component).Name())
	case TestNodeExists:
		return (node != nil) != k.Not
	case TestNot:
		return !k.of[0].met(component, node)
	case TestAll, TestAny:
		for i := range k.of {
			if k.of[i].met(component, node) == (k.Test == TestAny) {
				return k.Test == TestAny
			}
		}
		return k.Test == TestAll
	}
	if node == nil {
		return false
	}
	switch k.Test {
	case TestHasPayload:
		return (node.Payload.Kind != NoPayload) != k.Not
	case TestHasData:
		return (node.Payload.Kind == Data) != k.Not
	case TestHasProcedure:
		return (node.Payload.Kind == Procedure) != k.Not
	case TestDataMatches:
		return node.Payload.Kind == Data && matchData(k.data, k.guards, node.Payload.Bytes)
	case TestPayloadVersion:
		return k.Compare.holds(cmp.Compare(node.PayloadVersion, k.Number))
	case TestChildListVersion:
		return k.Compare.holds(cmp.Compare(node.ChildListVersion, k.Number))
	}
	return k.Compare.holds(cmp.Compare(uint64(node.ChildListLength), k.Number))
}
