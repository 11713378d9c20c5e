package ui

import (
	"opdeck/api"
	untrusted "opdeck/api/text"
	"opdeck/ui/widget"
)

// Failure explains an act that was refused, that failed, or whose outcome nobody
// knows: the sentence, what can be done, and the request's id.
func Failure(what string, err error) Explain {
	e := api.AsError(err)
	title := what + " did not go through"
	switch e.Kind {
	case api.UnknownOutcome:
		title = what + ": outcome unknown"
	case api.Refused, api.NotFound:
		title = what + " refused"
	}
	lines := []string{e.Public}
	if e.Hint != "" {
		lines = append(lines, e.Hint)
	}
	var facts []widget.Pair
	if e.RequestID != "" {
		facts = append(facts, widget.Pair{Label: "request", Value: untrusted.Untrusted(e.RequestID).Line(80)})
	}
	return Explain{Title: title, Lines: lines, Facts: facts}
}
