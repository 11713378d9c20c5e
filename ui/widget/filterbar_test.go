package widget

import (
	"strings"
	"testing"

	"github.com/muesli/termenv"
	"pgregory.net/rapid"

	"opdeck/ui/keymap"
	"opdeck/ui/theme"
	"opdeck/ui/uitest"
)

func typeInto(b *FilterBar, s string) {
	for _, r := range s {
		b.Type(keymap.Parse(string(r)))
	}
}

func plain() *theme.Theme { return theme.New(uitest.Renderer(termenv.Ascii), theme.Mono()) }

func TestOffersAreGoneThrough(t *testing.T) {
	b := NewFilterBar("status:", "", 100)
	offers := []Offer{{"PENDING", 7, 7}, {"SUCCESS", 7, 7}}
	b.Offer(offers)
	for _, want := range []string{"status:PENDING", "status:SUCCESS", "status:PENDING"} {
		if !b.Complete() || b.Value() != want || b.At() != len(want) || !b.Choosing() {
			t.Errorf("%q, want %q", b.Value(), want)
		}
		b.Offer(nil) // while someone goes through them they hold
	}
	typeInto(b, " x")
	if b.Choosing() {
		t.Error("typing does not end the choice")
	}
	b.Offer(nil)
	if b.Complete() || b.Value() != "status:PENDING x" {
		t.Errorf("completed to %q", b.Value())
	}
	b.Offer([]Offer{{"status:", 0, 6}}) // an only one, in the middle
	if !b.Complete() || b.Choosing() || b.Value() != "status::PENDING x" || b.At() != 7 {
		t.Errorf("%q at %d", b.Value(), b.At())
	}
}

func TestWhatIsWrongIsShown(t *testing.T) {
	b := NewFilterBar("株 x", "", 100)
	b.Wrong(3, "x\x1b[2J is not known.", "Not filtered")
	lines := b.Lines(plain(), 60)
	if len(lines) != 4 || lines[1] != "     ^" || lines[2] != "! Not filtered" || !strings.Contains(lines[3], "x·[2J is not known.") {
		t.Errorf("%q", lines)
	}
	b.Offer([]Offer{{"y", 4, 4}})
	b.Wrong(4, "Something is missing.", "") // at the end: it goes on
	if lines := b.Lines(plain(), 60); len(lines) != 3 || lines[1] != "Something is missing." || lines[2] != "tab y" {
		t.Errorf("%q", lines)
	}
	if !b.IsWrong() {
		t.Error("wrong is right")
	}
	b.Right()
	if lines := b.Lines(plain(), 60); b.IsWrong() || len(lines) != 2 {
		t.Errorf("%q", lines)
	}
}

// TestALongMistakeIsReadWhole: what is to be done about it is at its end.
func TestALongMistakeIsReadWhole(t *testing.T) {
	b := NewFilterBar("statu:X", "", 100)
	b.Wrong(1, "There is no field \"statu\". Did you mean \"status\"? Text that holds \":\" goes in quotes.", "Not filtered")
	lines := b.Lines(plain(), 40)
	if len(lines) != 5 || lines[2] != "! Not filtered" || !strings.Contains(lines[3]+lines[4], "\"status\"?") || !strings.HasSuffix(lines[4], "…") {
		t.Errorf("%q", lines)
	}
}

func TestFilterBarAtAnySize(t *testing.T) {
	th := plain()
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.StringOfN(rapid.RuneFrom([]rune("ab: 株\x1b\u202e\"()")), 0, 40, -1).Draw(t, "text")
		b := NewFilterBar("", "an example of it", 100)
		typeInto(b, v)
		b.Wrong(rapid.IntRange(0, 45).Draw(t, "column"), v, v)
		at := rapid.IntRange(0, len(b.Value())).Draw(t, "at")
		b.Offer([]Offer{{v, at, at}, {"b", at, at}})
		for range rapid.IntRange(0, 3).Draw(t, "tabs") {
			b.Complete()
		}
		w := rapid.IntRange(1, 100).Draw(t, "w")
		lines := b.Lines(th, w)
		if w < 6 { // the sign, the cursor and the caret take that much
			return
		}
		if err := uitest.CheckFrame(strings.Join(lines, "\n"), w, len(lines)); err != nil {
			t.Fatalf("%q in %d: %v\n%q", v, w, err, lines)
		}
	})
}
