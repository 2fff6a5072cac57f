package scenarios

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"metasim/delay"
	"metasim/internal/problem"
	"metasim/internal/suggest"
	"metasim/metasim"
)

// A schemaProblem is a problem and its path: the value there cannot be used.
type schemaProblem struct {
	problem.Problem
	path    path
	unknown bool // it is a key that there is not
}

// validate checks the tree against the schema and returns everything that is wrong.
func validate(root *node) ([]schemaProblem, error) {
	schema, err := compiled()
	if err != nil {
		return nil, fmt.Errorf("the schema of scenarios is wrong, a mistake of metasim: %w", err)
	}
	var invalid *jsonschema.ValidationError
	if err := schema.Validate(root.plain()); err != nil && !errors.As(err, &invalid) {
		return nil, fmt.Errorf("the schema of scenarios fails, a mistake of metasim: %w", err)
	}
	v := validator{root: root, schema: schema.doc}
	if invalid != nil {
		v.walk(invalid)
	}
	return v.problems, nil
}

// A compiledSchema is the schema, and what it was compiled from. Neither changes.
type compiledSchema struct {
	*jsonschema.Schema
	doc any
}

// compiled compiles the schema once, which takes longer than to check a scenario against it.
var compiled = sync.OnceValues(func() (s compiledSchema, err error) {
	const address = "urn:metasim:scenario"
	if s.doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(Schema())); err != nil {
		return s, err
	}
	compiler := jsonschema.NewCompiler()
	if err = compiler.AddResource(address, s.doc); err != nil {
		return s, err
	}
	s.Schema, err = compiler.Compile(address)
	return s, err
})

// A validator writes the messages for what the schema library found, with the titles and examples of the schema.
type validator struct {
	root     *node
	schema   any
	problems []schemaProblem
}

// walk visits the errors that are worth a message; "allOf failed" is not.
func (v *validator) walk(e *jsonschema.ValidationError) {
	if _, ok := e.ErrorKind.(*kind.OneOf); ok || len(e.Causes) == 0 {
		v.report(e)
		return
	}
	ambiguous := slices.ContainsFunc(e.Causes, func(c *jsonschema.ValidationError) bool {
		_, ok := c.ErrorKind.(*kind.OneOf)
		return ok
	})
	for _, cause := range e.Causes {
		if _, ok := cause.ErrorKind.(*kind.DependentRequired); ok && ambiguous {
			continue // "with needs model" adds nothing to "it has neither model nor run nor external"
		}
		v.walk(cause)
	}
}

// add adds a problem at a path; it points at the key where onKey, else at the value.
func (v *validator) add(p path, onKey bool, format string, args ...any) {
	_, at := v.root.find(p, onKey)
	v.problems = append(v.problems, schemaProblem{at.problem(p, fmt.Sprintf(format, args...)), p, false})
}

func (v *validator) report(e *jsonschema.ValidationError) {
	here := path(slices.Clone(e.InstanceLocation))
	rule := v.rule(e.SchemaURL)
	found, _ := v.root.find(here, false)
	switch k := e.ErrorKind.(type) {
	case *kind.AdditionalProperties:
		slices.Sort(k.Properties)
		for _, key := range k.Properties {
			v.add(here.to(key), true, "%q is unknown here; %s", key, suggest.Word(key, keys(rule["properties"])))
			v.problems[len(v.problems)-1].unknown = true
		}
	case *kind.Required:
		for _, key := range k.Missing {
			v.add(here.to(key), false, "%s", v.missing(found, rule, key))
		}
	case *kind.DependentRequired:
		v.add(here.to(k.Prop), true, "belongs to %s; add %[1]s, or remove %[2]s", strings.Join(k.Missing, ", "), k.Prop)
	case *kind.OneOf:
		v.add(here, false, "%s", whatItIs(found))
	case *kind.Type:
		v.add(here, false, "%s", v.wrongType(found.value, rule))
	case *kind.Pattern:
		v.add(here, false, "%s", v.illWritten(k, rule))
	case *kind.Enum:
		meant := suggest.Word(fmt.Sprint(k.Got), words(k.Want))
		v.add(here, false, "%s is not %s; %s", show(found.value), rule["title"], meant)
	case *kind.Const:
		v.add(here, false, "is %s, not %v; write %[2]v, or leave it out", show(found.value), k.Want)
	case *kind.Minimum:
		v.add(here, false, "is %v; write at least %v", found.value, rule["minimum"])
	case *kind.Maximum:
		v.add(here, false, "is %v; write at most %v", found.value, rule["maximum"])
	case *kind.MinItems, *kind.MinLength:
		v.add(here, false, "is empty; write %s, such as %s", rule["title"], example(rule))
	case *kind.MaxLength:
		v.add(here, false, "has %d characters; %d is the limit", k.Got, k.Want)
	case *kind.MinProperties, *kind.MaxProperties:
		v.add(here, false, "holds %s; write exactly one of %s", show(found.value), suggest.Either(keys(rule["properties"])))
	default:
		v.add(here, false, "%s", e.ErrorKind.LocalizedString(message.NewPrinter(language.English)))
	}
}

// illWritten is the message for a text that does not match its pattern.
func (v *validator) illWritten(k *kind.Pattern, rule object) string {
	var err error
	switch k.Want {
	case v.pattern("#/properties/until"):
		_, err = delay.ParseDuration(k.Got)
	case v.pattern("#/$defs/link/properties/bandwidth"):
		_, err = delay.ParseBandwidth(k.Got)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s is not %s; write, for example, %s", quote(k.Got), rule["title"], example(rule))
}

// wrongType is the message for a value of another type than the rule's.
func (v *validator) wrongType(value any, rule object) string {
	pattern, _ := rule["pattern"].(string) // a rule without a pattern is for no duration
	switch value.(type) {
	case nil:
		return fmt.Sprintf("has no value; write %s, such as %s", rule["title"], example(rule))
	case int64, uint64, float64:
		if pattern == v.pattern("#/properties/until") {
			return fmt.Sprintf("%v has no unit; write %[1]vms, %[1]vs, ...", value)
		}
	}
	switch value.(type) {
	case bool, int64, uint64, float64:
		if title, _ := rule["title"].(string); strings.HasPrefix(title, "a text") { // a rule without a title is for no text
			return fmt.Sprintf("is %s, not %s; put it in quotes: \"%v\"", show(value), rule["title"], value)
		}
	}
	return fmt.Sprintf("is %s, not %s; write, for example, %s", show(value), rule["title"], example(rule))
}

// whatItIs is the message for a client without exactly one of model, run and external.
func whatItIs(client *node) string {
	var has []string
	for _, key := range []string{"model", "run", "external"} {
		if client.child(key) != nil {
			has = append(has, key)
		}
	}
	if has == nil {
		return "says neither model, run nor external; add one: a built-in model, a command, or external: true"
	}
	return "says " + strings.Join(has, " and ") + "; keep one of them"
}

// pattern returns the pattern of a rule.
func (v *validator) pattern(address string) string {
	p, _ := v.rule(address)["pattern"].(string) // a rule without a pattern has ""
	return p
}

// rule returns the part of the schema that an error's address points to.
func (v *validator) rule(address string) object {
	_, pointer, _ := strings.Cut(address, "#")
	at := v.schema
	for step := range strings.SplitSeq(pointer, "/") {
		if step == "" { // before the first slash
			continue
		}
		if unescaped, err := url.PathUnescape(step); err == nil {
			step = unescaped
		}
		switch part := at.(type) {
		case object:
			at = part[step]
		case []any:
			if i, err := strconv.Atoi(step); err == nil && i < len(part) {
				at = part[i]
			}
		}
	}
	rule, _ := at.(object) // the message for an error without a rule has no title
	return rule
}

// missing is the message for a required key that is missing in a mapping.
func (v *validator) missing(found *node, rule object, key string) string {
	properties, _ := rule["properties"].(object) // the message for a key without a description has its name alone
	property, _ := properties[key].(object)
	if address, ok := property["$ref"].(string); ok {
		property = v.rule(address)
	}
	doc, line := "", key
	if text, ok := property["description"].(string); ok {
		doc = " (" + strings.TrimSuffix(text, ".") + ")"
	}
	if text := cmp.Or(fitting(found, key), example(property)); text != "" {
		line += ": " + text
	}
	return fmt.Sprintf("is missing%s; add %s", doc, line)
}

// fitting suggests a value for a missing bound or mean of a distribution that fits the values which the mapping has. It returns an empty
// string for other keys, and if the mapping has no such values.
func fitting(found *node, key string) string {
	const missing = -1 // or a problem of its own
	given := func(key string) metasim.Time {
		d, err := delay.ParseDuration(found.child(key).word())
		if err != nil {
			return missing
		}
		return d
	}
	switch greater := max(given("mean"), given("max")); {
	case key == "min" && greater != missing:
		return (greater / 2).String()
	case (key == "mean" || key == "max") && given("min") > 0:
		return given("min").Add(given("min")).String()
	}
	return ""
}
