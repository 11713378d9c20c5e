package ui

import (
	"cmp"
	"strings"

	"opdeck/internal/act"
)

// Asking completes the question of an act with what the table of acts says: title,
// question, button, risk, and whether a production context asks for typing. What c
// says already goes before: its Ask instead of the act's, its Risk in front of it.
func Asking(a *act.Act, o act.Object, c Confirm) Confirm {
	q := a.Words.Fill(o)
	c.Title, c.Verb, c.SkipTypedConfirmation = q.Title, q.Verb, a.Ask != act.Typed
	if c.Ask == "" {
		c.Ask = q.Ask
	}
	c.Risk = strings.TrimSpace(c.Risk + " " + q.Risk)
	if c.not = cmp.Or(a.Words.Declined, "Nothing was sent."); a.Effect == act.Write {
		c.sends = a.Sends
	}
	return c
}
