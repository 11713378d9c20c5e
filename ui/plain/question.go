package plain

import (
	"cmp"
	"context"
	"errors"
	"strconv"
	"strings"

	"opdeck/api/untrusted"
	"opdeck/ui"
)

func promptOf(q ui.Question) string {
	what := "yes"
	if q.Typed {
		what = "the last " + strconv.Itoa(len(ui.LastOf(q.ID))) + " characters of the " + cmp.Or(q.IDLabel, "id")
	}
	return "Type " + what + " to " + strings.ToLower(q.Verb) + "; anything else is No:"
}

func isYes(q ui.Question, answer string) bool {
	if q.Typed {
		return answer != "" && answer == ui.LastOf(q.ID)
	}
	return strings.EqualFold(answer, "yes")
}

// Confirm asks what a screen asks, after the sentence lead. Nothing but the answer in
// full, typed after the question was said to its end, is a yes. Whatever was typed before the question was said to its
// end is
// dropped, and an answer that more lines follow at once is pasted text: both are
// No, as are an empty line, a letter and the end of input. The error is set when
// the person wants elsewhere as well.
func (t *Talk) Confirm(ctx context.Context, lead string, q ui.Question) (bool, error) {
	t.question(lead, q)
	if q.Typed && ui.LastOf(q.ID) == "" {
		t.Say("The end of this id cannot be typed, so it cannot be confirmed here. Nothing was sent.")
		return false, nil
	}
	for {
		t.in.hush(ctx, t.opt.Pause)
		t.Say(promptOf(q))
		answer, err := t.read(ctx, false)
		if err != nil {
			return false, err
		}
		if answer == "?" {
			t.question(lead, q)
			t.Say("An empty line is No.")
			continue
		}
		return t.judge(ctx, q, answer)
	}
}

func (t *Talk) judge(ctx context.Context, q ui.Question, answer string) (bool, error) {
	switch {
	case !isYes(q, answer):
		t.Say("No. Nothing was sent.")
		if err := way(answer); err != nil && !errors.Is(err, ErrBack) {
			return false, err
		}
		return false, nil
	case t.in.follows(ctx, t.opt.Settle):
		t.in.hush(ctx, t.opt.Pause)
		t.Say("More text followed the answer, as in a paste. That counts as No. Nothing was sent.")
		return false, nil
	case ctx.Err() != nil:
		return false, ErrInterrupted
	}
	return true, nil
}

func (t *Talk) question(lead string, q ui.Question) {
	if lead != "" {
		t.Say(lead)
	}
	t.Say("Question. " + q.Ask)
	if q.ID != "" {
		t.Say(cmp.Or(q.IDLabel, "id") + ": " + untrusted.Text(q.ID).Line(200))
	}
	for _, f := range q.Facts {
		if f.Label != "" {
			t.Say(f.Label + ": " + f.Value)
		}
	}
	if q.Risk != "" {
		t.Say(q.Risk)
	}
}
