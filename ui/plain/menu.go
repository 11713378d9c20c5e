package plain

import (
	"context"
	"strconv"
	"strings"
)

// choose offers numbered choices; it returns the index of the one taken, which find finds by
// what was typed (-1: none). An empty line goes back (ErrBack). why says why choice i cannot
// be taken; nil: all can.
func (t *Talk) choose(ctx context.Context, label string, choices []string, find func(typed string) int,
	why func(i int) string) (int, error) {
	for i, c := range choices {
		t.Say(strconv.Itoa(i+1) + ". " + c)
	}
	for {
		s, err := t.prompt(ctx, label+". A number, or back:")
		switch {
		case err != nil:
			return 0, err
		case s == "":
			return 0, ErrBack
		}
		if err := way(s); err != nil {
			return 0, err
		}
		switch i := find(s); {
		case i < 0:
			t.Say("Type a number from 1 to " + strconv.Itoa(len(choices)) + ". An empty line goes back.")
		case why != nil && why(i) != "":
			t.Say("Not available now. " + why(i))
		default:
			return i, nil
		}
	}
}

// choice is the index of the choice that was typed: by its number, or by its
// beginning; -1: none.
func choice(typed string, choices []string) int {
	if n, err := strconv.Atoi(strings.TrimSuffix(typed, ".")); err == nil {
		if n < 1 || n > len(choices) {
			return -1
		}
		return n - 1
	}
	for i, c := range choices {
		if strings.HasPrefix(strings.ToLower(c), strings.ToLower(typed)) {
			return i
		}
	}
	return -1
}
