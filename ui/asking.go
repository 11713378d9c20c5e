package ui

import (
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
	c.not, c.second = notDone(a.Words.Done), a.Effect == act.Write && len(a.Sends) > 0
	return c
}

// notDone is what is said after a no: "Not removed." for "Removed {item}.".
func notDone(done string) string {
	done, _, _ = strings.Cut(strings.TrimSuffix(done, "."), " {")
	if done == "" || strings.HasPrefix(done, "The ") {
		return "Nothing was sent."
	}
	return "Not " + strings.ToLower(done[:1]) + done[1:] + "."
}
