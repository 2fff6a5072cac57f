package scenarios

import (
	"fmt"
	"path/filepath"
	"reflect"

	"github.com/go-viper/mapstructure/v2"
	"github.com/spf13/viper"

	"metasim/delay"
	"metasim/metasim"
)

// Load reads a scenario file, applies the overrides and checks the result. Warnings come with a Scenario as well as
// with an error. The error is an *Invalid wherever the scenario, not this program, is at fault.
func Load(file string, o Overrides) (*Scenario, []Problem, error) {
	s, told, err := loadFor(toRun, file, o)
	return s, told.warnings, err
}

// Review reads a scenario file as Load does, and looks for advice too: what would let a run of it compute more at once, as
// far as that can be known before it runs. A scenario that cannot be used gets none.
func Review(file string, o Overrides) (warnings, advice []Problem, err error) {
	_, told, err := loadFor(toReview, file, o)
	return told.warnings, told.advice, err
}

// Parse is Load for a text that was read already. File names it in problems, and its directory is where the paths in
// it begin.
func Parse(file string, text []byte, o Overrides) (*Scenario, []Problem, error) {
	s, told, err := parseFor(toRun, file, text, o)
	return s, told.warnings, err
}

func loadFor(why purpose, file string, o Overrides) (*Scenario, told, error) {
	text, problem := readSource(file)
	if problem != nil {
		return nil, told{}, &Invalid{[]Problem{*problem}}
	}
	return parseFor(why, file, text, o)
}

func parseFor(why purpose, file string, text []byte, o Overrides) (*Scenario, told, error) {
	root, problems := parse(file, text)
	if problems != nil {
		return nil, told{}, &Invalid{sorted(problems)}
	}
	return build(root, filepath.Dir(file), o, why)
}

// A purpose is what a scenario is wanted for.
type purpose int

const (
	toLook   purpose = iota // it has run: only its words count
	toRun                   // its files and commands must be there, and it must be able to end
	toReview                // likewise, and what would make it faster is wanted
)

// A told is what there is to say of a scenario beside its errors.
type told struct{ warnings, advice []Problem }

func (c *checker) told() told { return told{sorted(c.warnings), sorted(c.advice)} }

// build makes a Scenario of a tree.
func build(root *node, dir string, o Overrides, why purpose) (*Scenario, told, error) {
	absolute, err := filepath.Abs(dir)
	if err != nil {
		return nil, told{}, fmt.Errorf("scenarios: %s has no absolute path (%w); change into a directory that exists", dir, err)
	}
	problems := o.apply(root)
	c, err := check(root, directory{absolute, o.AllowOutside}, why)
	if err != nil {
		return nil, told{}, err
	}
	if problems = append(problems, c.problems...); problems != nil {
		return nil, c.told(), &Invalid{sorted(problems)}
	}
	s := &Scenario{Dir: absolute, Rules: c.rules, allowOutside: o.AllowOutside}
	if err := decode(root.plain(), &s.doc); err != nil {
		return nil, told{}, fmt.Errorf("scenarios: what the schema let pass does not decode, a mistake of metasim: %w", err)
	}
	s.expand()
	if why != toLook {
		c.flow(s)
	}
	if c.problems != nil {
		return nil, c.told(), &Invalid{sorted(c.problems)}
	}
	return s, c.told(), nil
}

// decode fills a document by way of viper, which brings the defaults and is strict about keys. Its keys are blind to
// case and split on dots: the schema lets only lower-case words through, and clients and links are lists.
func decode(plain any, doc *document) error {
	v := viper.New()
	v.SetDefault("seed", 0)
	v.SetDefault("rate", 0)
	v.SetDefault("max_steps", metasim.DefaultMaxSteps)
	v.SetDefault("start_timeout", span(DefaultStartTimeout))
	settings, ok := plain.(map[string]any)
	if !ok {
		return fmt.Errorf("scenarios: %T is no mapping", plain)
	}
	if err := v.MergeConfigMap(settings); err != nil {
		return err
	}
	return v.UnmarshalExact(doc, func(c *mapstructure.DecoderConfig) {
		c.DecodeHook = mapstructure.DecodeHookFuncType(readSpan)
		c.WeaklyTypedInput = false
	})
}

// readSpan makes a span of a text where one is wanted.
func readSpan(from, to reflect.Type, value any) (any, error) {
	text, ok := value.(string)
	if !ok || to != reflect.TypeFor[span]() {
		return value, nil
	}
	d, err := delay.ParseDuration(text)
	return span(d), err
}
