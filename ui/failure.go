package ui

import (
	"slices"

	"opdeck/api"
	"opdeck/api/untrusted"
	"opdeck/internal/act/remedy"
	"opdeck/ui/keymap"
	"opdeck/ui/widget"
)

// Failure explains an act that was refused, that failed, or whose outcome is unknown:
// the sentence, the remedy, and the request's id. An act that waits for a second person
// did not fail: Failure then says where the colleague finds it.
func Failure(what string, err error) Explain {
	e := api.AsError(err)
	title := what + " failed"
	switch {
	case e.Rule == api.RuleApproval:
		title = what + " needs a second person"
	case e.Kind == api.UnknownOutcome:
		title = what + ": unknown outcome"
	case e.Kind == api.Refused, e.Kind == api.NotFound:
		title = what + " refused"
	}
	lines := []string{e.Public}
	if what := remedy.Screen(e); what != "" {
		lines = append(lines, what)
	}
	var facts []widget.Pair
	if e.RequestID != "" {
		facts = append(facts, widget.Pair{Label: "request", Value: untrusted.Text(e.RequestID).Line(80)})
	}
	return Explain{Title: title, Lines: lines, Facts: facts, failed: e.Rule != api.RuleApproval, resending: canResend(e),
		field: e.Field, then: whereNext(e)}
}

// whereNext says where a person sees what follows from an error, with the keys as way names them; nil: there is no
// such place.
func whereNext(e *api.Error) func(k *keymap.Map, way func(keymap.Key) string) string {
	switch {
	case e.Kind == api.UnknownOutcome:
		return func(k *keymap.Map, way func(keymap.Key) string) string {
			return "A notice appears when the outcome is known; " + way(k.Global.Audit) + " lists writes with an unknown " +
				"outcome."
		}
	case e.Kind == api.RateLimited:
		return func(k *keymap.Map, way func(keymap.Key) string) string {
			return way(k.Global.Limits) + " shows when the next call is possible; try again then."
		}
	case e.Rule == api.RuleApproval:
		return func(k *keymap.Map, way func(keymap.Key) string) string {
			return "They find it in the console with " + way(k.Global.Audit) + ", then " + way(k.Audit.Approvals) + "."
		}
	}
	return nil
}

// canResend reports whether nothing was done and a corrected form may be sent again.
func canResend(e *api.Error) bool {
	switch e.Rule {
	case api.RuleApproval, api.RuleRole, api.RuleReadOnly, api.RuleShared:
		return false
	}
	return e.Kind != api.UnknownOutcome && e.Kind != api.Interrupted
}

// newRefused opens a refused form again, with the values that were sent and the refusal.
func newRefused(s *Shell, owner screenID, m FormModel, e Explain) *input {
	m.form().refuse(e)
	d := newInput(owner, m)
	d.armed = s.win.now().Add(armAfter)
	return d
}

// wrongField returns the field that the error names, else the first secret field, else the first field.
func wrongField(fields []widget.Field, name string) int {
	i := slices.IndexFunc(fields, func(f widget.Field) bool { return name != "" && f.Name == name })
	if i < 0 {
		i = slices.IndexFunc(fields, func(f widget.Field) bool { return f.Secret })
	}
	return max(i, 0)
}

// Ended returns the result of a write for its screen: done, or why it failed.
func Ended(what, done string, err error) Action {
	if err != nil {
		return Failure(what, err)
	}
	return Notify{Level: Success, Text: done}
}

// EndedElsewhere returns the result of a write in one line, for a person who left its screen.
func EndedElsewhere(failed, done string, err error) Notify {
	if err != nil {
		return Notify{Level: Error, Text: failed + ": " + untrusted.Text(api.AsError(err).Public).Line(300)}
	}
	return Notify{Level: Success, Text: done}
}
