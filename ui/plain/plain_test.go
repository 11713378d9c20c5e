package plain

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"opdeck/api/untrusted"
	"opdeck/ui"
	"opdeck/ui/draw"
	"opdeck/ui/widget"
)

// answers is a person who types each line when a prompt was said: the reader
// gives the next line only when it is asked for one.
type answers struct {
	lines []string
	stay  bool // the input does not end
}

func (a *answers) Read(b []byte) (int, error) {
	if len(a.lines) == 0 {
		if a.stay {
			select {}
		}
		return 0, io.EOF
	}
	n := copy(b, a.lines[0])
	a.lines = a.lines[1:]
	return n, nil
}

func talk(in io.Reader) (*Talk, *bytes.Buffer) {
	var out bytes.Buffer
	return New(Options{In: in, Out: &out, Pause: time.Microsecond}), &out
}

func TestOnlySafeLinesAreSaid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		said := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) string {
			return string(rapid.SliceOfN(rapid.Byte(), 0, 60).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		}), 1, 5).Draw(t, "lines")
		width := rapid.SampledFrom([]int{0, 20, 33}).Draw(t, "width")
		var out bytes.Buffer
		k := New(Options{In: strings.NewReader(""), Out: &out, Width: width, ASCII: rapid.Bool().Draw(t, "ascii")})
		defer k.Close()
		k.Say(said...)
		if !strings.HasSuffix(out.String(), "\n") {
			t.Fatalf("%q ends without a line end", out.String())
		}
		for l := range strings.SplitSeq(strings.TrimSuffix(out.String(), "\n"), "\n") {
			if _, f := untrusted.Clean(l, len(l)+1); f&(untrusted.Control|untrusted.Format|untrusted.Invalid) != 0 {
				t.Fatalf("%q was said", l)
			}
			if width > 1 && draw.Width(l) > width {
				t.Fatalf("%q is wider than %d", l, width)
			}
			if k.opt.ASCII && utf8.RuneCountInString(l) != len(l) {
				t.Fatalf("%q is not ASCII", l)
			}
		}
	})
}

func TestLinesAreReadAsTerminalsSendThem(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
		end      error
	}{
		{"LF, CR and CRLF", "a\nb\rc\r\nd\n", []string{"a", "b", "c", "d"}, ErrEnd},
		{"editing", "abc\x7f\x08d\nwrong\x15right\né\x7fe\n", []string{"ad", "right", "e"}, ErrEnd},
		{"arrow keys and paste marks", "\x1b[Aa\x1b[1;5Cb\x1bOPc\x1b[200~d\n", []string{"abcd"}, ErrEnd},
		{"a sequence does not eat the line end", "a\x1b[\nb\n", []string{"a", "b"}, ErrEnd},
		{"answers of the terminal", "a\x1b]11;rgb:1/2\ab\x1bP>|M\x1b\\c\x1b_x\x1b[Ad\x1b]y\ne\n", []string{"abcd", "e"}, ErrEnd},
		{"ctrl+c drops what was typed", "a\nb\x03c\n", nil, ErrInterrupted},
		{"ctrl+d ends", "a\n\x04b\n", []string{"a"}, ErrEnd},
		{"an unfinished line is no line", "a\nyes", []string{"a"}, ErrEnd},
		{"control characters", "a\x00\x01\tb\n", []string{"a b"}, ErrEnd},
	} {
		k, _ := talk(strings.NewReader(c.in))
		var got []string
		var err error
		for {
			var s string
			if s, err = k.read(t.Context(), false); err != nil {
				break
			}
			got = append(got, s)
		}
		k.Close()
		if strings.Join(got, "|") != strings.Join(c.want, "|") || !errors.Is(err, c.end) {
			t.Errorf("%s: %q, %v; want %q, %v", c.name, got, err, c.want, c.end)
		}
	}
}

func TestLongLineIsRefused(t *testing.T) {
	k, out := talk(strings.NewReader(strings.Repeat("x", maxLine+5) + "\nshort\n"))
	defer k.Close()
	if s, err := k.read(t.Context(), false); s != "short" || err != nil || !strings.Contains(out.String(), "too long") {
		t.Errorf("%q %v, said %q", s, err, out.String())
	}
}

func TestConfirm(t *testing.T) {
	word := ui.Question{Confirm: ui.Confirm{Ask: "Remove it?", Verb: "Remove it", Facts: []widget.Pair{{Label: "Id", Value: "abc-1234"}}}}
	typed := ui.Question{Confirm: ui.Confirm{Ask: "Remove it?", Verb: "Remove it", ID: "abc-1234"}, Typed: true}
	for _, c := range []struct {
		name string
		q    ui.Question
		in   []string // one item a Read: typed after the prompt
		want bool
		err  error
	}{
		{"yes", word, []string{"yes\n"}, true, nil},
		{"YES", word, []string{" YES \n"}, true, nil},
		{"a letter", word, []string{"y\n"}, false, nil},
		{"an empty line", word, []string{"\n"}, false, nil},
		{"a sentence", word, []string{"yes please\n"}, false, nil},
		{"no", word, []string{"no\n"}, false, nil},
		{"back", word, []string{"back\n"}, false, nil},
		{"quit", word, []string{"quit\n"}, false, ErrQuit},
		{"help, then yes", word, []string{"?\n", "yes\n"}, true, nil},
		{"the end", word, nil, false, ErrEnd},
		{"yes without a line end", word, []string{"yes"}, false, ErrEnd},
		{"pasted with more behind", word, []string{"yes\nand more\n"}, false, nil},
		{"pasted twice", word, []string{"yes\nyes\n"}, false, nil},
		{"the last four", typed, []string{"1234\n"}, true, nil},
		{"yes in production", typed, []string{"yes\n"}, false, nil},
		{"three of four", typed, []string{"234\n"}, false, nil},
		{"the whole id", typed, []string{"abc-1234\n"}, false, nil},
		{"an empty line in production", typed, []string{"\n"}, false, nil},
		{"an id that cannot be typed", ui.Question{Confirm: ui.Confirm{Ask: "?", ID: "株式会社"}, Typed: true}, []string{"\n"}, false, nil},
		{"no id", ui.Question{Confirm: ui.Confirm{Ask: "?"}, Typed: true}, []string{"\n"}, false, nil},
	} {
		k, out := talkAfterPrompt(c.in)
		got, err := k.Confirm(t.Context(), "", c.q)
		k.Close()
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v; want %v, %v\n%s", c.name, got, err, c.want, c.err, out.String())
		}
	}
}

// prompted gives its input only after the last line of a question was said.
type prompted struct {
	all  bytes.Buffer
	said chan struct{}
}

func (p *prompted) String() string { return p.all.String() }

func (p *prompted) Write(b []byte) (int, error) {
	for range strings.Count(string(b), "is No:\n") {
		p.said <- struct{}{}
	}
	return p.all.Write(b)
}

func talkAfterPrompt(in []string) (*Talk, *prompted) {
	out := &prompted{said: make(chan struct{}, 10)}
	r, w := io.Pipe()
	go func() {
		for _, s := range in {
			<-out.said
			_, _ = io.WriteString(w, s)
		}
		if len(in) == 0 {
			<-out.said
		}
		if len(in) == 0 || !strings.HasSuffix(in[len(in)-1], "\n") {
			_ = w.Close()
		}
	}()
	return New(Options{In: r, Out: out, Pause: time.Microsecond}), out
}

func TestWhatWasTypedBeforeAQuestionIsNoAnswer(t *testing.T) {
	r, w := io.Pipe()
	var out bytes.Buffer
	k := New(Options{In: r, Out: &out, Pause: 30 * time.Millisecond})
	defer k.Close()
	go func() { // "remove" with two answers pasted behind it, then the end
		_, _ = io.WriteString(w, "remove\nyes\nyes\ny")
		_, _ = io.WriteString(w, "es\nyes\n")
		_ = w.Close()
	}()
	if s, err := k.read(t.Context(), false); s != "remove" || err != nil {
		t.Fatalf("%q %v", s, err)
	}
	yes, err := k.Confirm(t.Context(), "", ui.Question{Confirm: ui.Confirm{Ask: "Remove it?", Verb: "Remove it"}})
	if yes || !errors.Is(err, ErrEnd) {
		t.Errorf("%v %v\n%s", yes, err, out.String())
	}
}

func TestInterruptedWhileWaiting(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	r, w := io.Pipe()
	defer w.Close()
	k, _ := talk(r)
	defer k.Close()
	time.AfterFunc(time.Millisecond, cancel)
	if _, err := k.Ask(ctx, Field{Label: "Text"}); !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v", err)
	}
	if yes, err := k.Confirm(ctx, "", ui.Question{Confirm: ui.Confirm{Ask: "?"}}); yes || !errors.Is(err, ErrInterrupted) {
		t.Errorf("%v %v", yes, err)
	}
}

func TestAskAndChoose(t *testing.T) {
	k, out := talk(strings.NewReader("?\nbad\ngood\n\nmenu\n"))
	defer k.Close()
	s, err := k.Ask(t.Context(), Field{Label: "Word", Help: "Any word.", Check: func(s string) error {
		if s == "bad" {
			return errors.New("Not that one.")
		}
		return nil
	}})
	if s != "good" || err != nil || !strings.Contains(out.String(), "Any word.") || !strings.Contains(out.String(), "Not that one.") {
		t.Errorf("%q %v\n%s", s, err, out.String())
	}
	if s, err := k.Ask(t.Context(), Field{Label: "Word", Optional: true}); s != "" || err != nil {
		t.Errorf("optional: %q %v", s, err)
	}
	if _, err := k.Ask(t.Context(), Field{Label: "Word"}); !errors.Is(err, ErrHome) {
		t.Errorf("menu: %v", err)
	}
}

// A hidden prompt reads the same terminal: no Read of ours may be under way then.
func TestSecretHasTheTerminalForItself(t *testing.T) {
	r, w := io.Pipe()
	var out bytes.Buffer
	k := New(Options{In: r, Out: &out, Secret: func(string) (string, error) {
		b := make([]byte, 64)
		n, err := r.Read(b)
		return string(b[:n]), err
	}})
	defer k.Close()
	go func() {
		_, _ = io.WriteString(w, "share\n")
		_, _ = io.WriteString(w, "hidden-token\n")
	}()
	if s, err := k.read(t.Context(), false); s != "share" || err != nil {
		t.Fatalf("%q %v", s, err)
	}
	if s, err := k.Secret(t.Context(), "Token"); s != "hidden-token" || err != nil {
		t.Errorf("%q %v", s, err)
	}
	if strings.Contains(out.String(), "hidden-token") {
		t.Error("the secret was said")
	}
}

func TestSecretsOfARawChannel(t *testing.T) {
	var out bytes.Buffer
	k := New(Options{In: strings.NewReader("list\rtoken-1234\r\r"), Out: &out, Echo: true})
	defer k.Close()
	if s, _ := k.read(t.Context(), false); s != "list" || !strings.Contains(out.String(), "You typed list.\n") {
		t.Errorf("%q\n%s", s, out.String())
	}
	if s, err := k.Secret(t.Context(), "Token"); s != "token-1234" || err != nil || strings.Contains(out.String(), "1234") {
		t.Errorf("%q %v\n%s", s, err, out.String())
	}
	if _, err := k.Secret(t.Context(), "Token"); !errors.Is(err, ErrBack) {
		t.Errorf("empty: %v", err)
	}
	plain, _ := talk(strings.NewReader("token\n"))
	defer plain.Close()
	if _, err := plain.Secret(t.Context(), "Token"); !errors.Is(err, ErrNoSecret) {
		t.Errorf("cannot hide: %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestNobodyListens(t *testing.T) {
	k := New(Options{In: &answers{stay: true}, Out: broken{}})
	if _, err := k.Ask(t.Context(), Field{Label: "Text"}); !errors.Is(err, ErrGone) {
		t.Errorf("%v", err)
	}
}

func TestWords(t *testing.T) {
	if List(nil) != "" || List([]string{"a"}) != "a" || List([]string{"a", "b", "c"}) != "a, b and c" {
		t.Error("lists")
	}
}
