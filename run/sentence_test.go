package run_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"metasim/run"
)

func TestSentence(t *testing.T) {
	for text, want := range map[string]string{
		"journal: x is no run":                     "x is no run",
		"client a: stream: nobody listens at x":    "client a: nobody listens at x",
		"metasim: client: wire: no":                "no",
		"client stream: lost the server":           "client stream: lost the server", // of a client called stream
		"wire: one\nwire: two":                     "one\ntwo",
		"it says wire: this, and that":             "it says wire: this, and that",
		`no clients can come in: quic: "x" is bad`: `no clients can come in: "x" is bad`,
	} {
		require.Equal(t, want, run.Sentence(errors.New(text)))
	}
	require.Equal(t, "a: b", run.Sentence(fmt.Errorf("run: a: %w", errors.New("delay: b"))))
}

func TestOptions(t *testing.T) {
	o := run.Options{Transport: "udp"}
	require.ErrorContains(t, o.Validate(), `no transport "udp"`)
	o = run.Options{Transport: "unix"}
	require.ErrorContains(t, o.Validate(), "Options.Self")
	o = run.Options{Patience: -1}
	require.ErrorContains(t, o.Validate(), "patience")
	o = run.Options{}
	require.NoError(t, o.Validate())
	require.Equal(t, "mem", o.Transport)
	require.Positive(t, o.Patience)
}
