package ui

import (
	"cmp"
	"strings"

	"opdeck/internal/act"
)

// Asking completes the question of an act from the table of acts: title, question,
// button, risk, and whether a production context needs typed confirmation. Ask of c
// replaces the act's question, and Risk of c precedes the act's risk, unless the act destroys something.
func Asking(a *act.Act, o act.Object, c Confirm) Confirm {
	q, before := a.Words.Fill(o), c.Risk
	c.Title, c.Verb, c.SkipTypedConfirmation = q.Title, q.Verb, a.Ask != act.Typed
	c.IDLabel, c.Destroys = cmp.Or(c.IDLabel, q.Of), q.Destroys
	if c.Ask == "" {
		c.Ask = q.Ask
	}
	if c.Risk = strings.TrimSpace(c.Risk + " " + q.Risk); q.Destroys {
		c.Risk = strings.TrimSpace(q.Risk + " " + before)
	}
	if c.not = cmp.Or(a.Words.Declined, "Nothing was sent."); a.Effect == act.Write {
		c.sends = a.Sends
	}
	return c
}
