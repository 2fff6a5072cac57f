package types

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// maxNesting is how deep lists and objects may nest in a text.
const maxNesting = 5 * maxDepth

// parseJSON reads one JSON value as map[string]any, []any, string, json.Number, bool or nil. Unlike json.Unmarshal it
// refuses what it would have to change or drop: texts that are not UTF-8, and objects that say something twice.
func parseJSON(text []byte) (any, error) {
	if !utf8.Valid(text) {
		return nil, errors.New("the JSON is not UTF-8; strings of other bytes are written {\"base64\": ...}")
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	v, err := parseValue(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("something comes after it; give one value")
		}
	}
	if err != nil {
		return nil, fmt.Errorf("the JSON is not good at byte %d: %w", d.InputOffset(), err)
	}
	return v, nil
}

func parseValue(d *json.Decoder, depth int) (any, error) {
	if depth > maxNesting {
		return nil, fmt.Errorf("it nests deeper than %d", maxNesting)
	}
	t, err := d.Token()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it ends too early")
	}
	switch {
	case err != nil:
		return nil, err
	case t == json.Delim('['):
		return parseList(d, depth+1)
	case t == json.Delim('{'):
		return parseObject(d, depth+1)
	}
	return t, nil
}

func parseList(d *json.Decoder, depth int) (any, error) {
	list := []any{}
	for d.More() {
		v, err := parseValue(d, depth)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	_, err := d.Token() // the ]
	return list, err
}

func parseObject(d *json.Decoder, depth int) (any, error) {
	object := map[string]any{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := key.(string)
		if !ok {
			return nil, fmt.Errorf("%v is no name", key)
		}
		if _, twice := object[name]; twice {
			return nil, fmt.Errorf("%q is there twice; remove one", name)
		}
		if object[name], err = parseValue(d, depth); err != nil {
			return nil, err
		}
	}
	_, err := d.Token() // the }
	return object, err
}

// describe is how a message speaks of a value that is of the wrong kind.
func describe(v any) string {
	switch v := v.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return fmt.Sprintf("the string %q", head(v))
	case nil:
		return "null"
	}
	return fmt.Sprint(v)
}

// head is as much of a string as a message should quote.
func head(s string) string {
	const most = 40
	if len(s) > most {
		return s[:most] + "..."
	}
	return s
}
