package sshd

import (
	"bytes"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"
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
	c := newCooked(r, cancel)
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
	if !errors.Is(context.Cause(ctx), errGone) {
		t.Error("ctrl+c did not end the command")
	}
	var out bytes.Buffer
	if n, err := (&crlf{w: &out}).Write([]byte("a\nb\n")); n != 4 || err != nil || out.String() != "a\r\nb\r\n" {
		t.Errorf("%d, %v, %q", n, err, &out)
	}
}

func TestDoor(t *testing.T) {
	d := newDoor(3, 2, time.Millisecond)
	in := func(from string) (func(), bool) { return d.enter(addr(from), nil) }
	a, _ := in("192.0.2.1")
	if _, ok := in("192.0.2.1"); !ok {
		t.Fatal("a second one of an address")
	}
	if _, ok := in("::ffff:192.0.2.1"); ok {
		t.Error("a third one of an address, written otherwise")
	}
	b, ok := in("2001:db8::1")
	if !ok {
		t.Fatal("another address")
	}
	if _, ok := in("198.51.100.1"); ok {
		t.Error("a fourth one")
	}
	b()
	b() // twice is once
	c, ok := in("2001:db8::2")
	if !ok {
		t.Error("no place where one became free")
	}
	c()
	a()
	if n := d.count(); n != 1 {
		t.Errorf("%d inside", n)
	}
	if network(addr("2001:db8::1")) != network(addr("2001:db8::ffff")) || network(addr("2001:db8::1")) == network(addr("2001:db8:0:1::1")) {
		t.Error("a /64 counts as one")
	}
	// One who waits gets the place of one who leaves.
	patient := newDoor(1, 1, time.Minute)
	leave, _ := patient.enter(addr("192.0.2.1"), nil)
	got := make(chan bool)
	go func() { _, ok := patient.enter(addr("192.0.2.1"), nil); got <- ok }()
	soon(t, "one waits", func() bool { patient.mu.Lock(); defer patient.mu.Unlock(); return patient.waiting == 1 })
	leave()
	if !<-got {
		t.Error("who waited got nothing")
	}
}
