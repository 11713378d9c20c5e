package plain

import (
	"context"
	"errors"
	"strconv"
	"strings"
)

// lastOfID is how many characters of an id are typed where a word is too easy.
const lastOfID = 4

// Pair is a fact of a question.
type Pair struct{ Label, Value string }

// Question is asked before something is written. Nothing but its answer in full,
// typed after the question was said to its end, is a yes.
type Question struct {
	Lead  string // said first: which context
	Ask   string // "Remove invoice.pdf from operation 5b55…?"
	Facts []Pair
	Risk  string
	Deed  string // completes "Type yes to …": "remove invoice.pdf"
	// Typed asks for the last characters of ID instead of the word yes; IDLabel
	// names the fact that holds it.
	Typed   bool
	ID      string
	IDLabel string
}

// lastOf is what must be typed: the last four characters of an id, or all of a
// shorter one. Empty when they are not on every keyboard (printable ASCII).
func lastOf(id string) string {
	r := []rune(id)
	r = r[max(len(r)-lastOfID, 0):]
	for _, c := range r {
		if c <= 0x20 || c > 0x7e {
			return ""
		}
	}
	return string(r)
}

func (q Question) prompt() string {
	if q.Typed {
		n := len(lastOf(q.ID))
		return "Type the last " + strconv.Itoa(n) + " characters of the " + q.IDLabel + " to " + q.Deed + "; anything else is No:"
	}
	return "Type yes to " + q.Deed + "; anything else is No:"
}

func (q Question) yes(answer string) bool {
	if q.Typed {
		return answer != "" && answer == lastOf(q.ID)
	}
	return strings.EqualFold(answer, "yes")
}

// Confirm asks. Whatever was typed before the question was said to its end is
// dropped, and an answer that more lines follow at once is pasted text: both are
// No, as are an empty line, a letter and the end of input. The error is set when
// the person wants elsewhere as well.
func (t *Talk) Confirm(ctx context.Context, q Question) (bool, error) {
	t.question(q)
	if q.Typed && lastOf(q.ID) == "" {
		t.Say("The end of this id cannot be typed, so it cannot be confirmed here. Nothing was sent.")
		return false, nil
	}
	for {
		t.in.hush(ctx, t.opt.Pause)
		t.Say(q.prompt())
		answer, err := t.read(ctx, false)
		if err != nil {
			return false, err
		}
		if answer == "?" {
			t.question(q)
			t.Say("An empty line is No.")
			continue
		}
		return t.judge(ctx, q, answer)
	}
}

func (t *Talk) judge(ctx context.Context, q Question, answer string) (bool, error) {
	switch {
	case !q.yes(answer):
		t.Say("No. Nothing was sent.")
		if err := way(answer); err != nil && !errors.Is(err, ErrBack) {
			return false, err
		}
		return false, nil
	case t.in.follows(ctx, t.opt.Settle):
		t.in.hush(ctx, t.opt.Pause)
		t.Say("More text came right behind the answer, as when something is pasted. That counts as No. Nothing was sent.")
		return false, nil
	case ctx.Err() != nil:
		return false, ErrInterrupted
	}
	return true, nil
}

func (t *Talk) question(q Question) {
	if q.Lead != "" {
		t.Say(q.Lead)
	}
	t.Say("Question. " + q.Ask)
	for _, f := range q.Facts {
		t.Say(f.Label + ": " + f.Value)
	}
	if q.Risk != "" {
		t.Say(q.Risk)
	}
}
