package sshserver

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for line, want := range map[string][]string{
		"":                                  nil,
		"  \t ":                             nil,
		"operation get o-1":                 {"operation", "get", "o-1"},
		`a 'b c' "d e" f\ g`:                {"a", "b c", "d e", "f g"},
		`--filter='status:PENDING x:"y z"'`: {`--filter=status:PENDING x:"y z"`},
		`--filter "amount>100 \"q\" \n"`:    {"--filter", `amount>100 "q" \n`},
		`a '' "" b`:                         {"a", "", "", "b"},
		"a;b|c&d $HOME `id` *":              {"a;b|c&d", "$HOME", "`id`", "*"},
		"a\nb\rc":                           {"a", "b", "c"},
		`trailing\`:                         {`trailing\`},
		"\x00\x1b[2J":                       {"\x00\x1b[2J"},
	} {
		got, err := splitWords(line)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %q, %v", line, got, err)
		}
	}
	for _, line := range []string{`'open`, `"open`, `a "b\"`} {
		if _, err := splitWords(line); err == nil {
			t.Errorf("%q was taken", line)
		}
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`a 'b c' "d\"e" \f`)
	f.Fuzz(func(t *testing.T, line string) {
		words, err := splitWords(line)
		if err != nil {
			return
		}
		quoted := make([]string, len(words))
		for i, w := range words {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		again, err := splitWords(strings.Join(quoted, " "))
		if err != nil || !slices.Equal(words, again) {
			t.Errorf("%q: %q, then %q, %v", line, words, again, err)
		}
	})
}

func TestTypedLines(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	r, w := io.Pipe()
	c := newLineInput(r, cancel)
	go func() {
		_, _ = io.WriteString(w, "one\rtwo\r\x04lost")
		_, _ = io.WriteString(w, "\x03")
		_ = w.Close()
	}()
	b, err := io.ReadAll(c)
	if err != nil || string(b) != "one\ntwo\n" {
		t.Errorf("%q, %v", b, err)
	}
	<-ctx.Done()
	if !errors.Is(context.Cause(ctx), errLeft) {
		t.Error("ctrl+c did not end the command")
	}
	var out bytes.Buffer
	if n, err := (&crlf{w: &out}).Write([]byte("a\nb\n")); n != 4 || err != nil || out.String() != "a\r\nb\r\n" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
}
