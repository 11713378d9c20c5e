package ui

import "opdeck/ui/keymap"

// TakeRelated does what a key of k does: it opens the history of the operation that of
// names, or its customer; false: p is none of them.
func TakeRelated(k keymap.Related, p keymap.Press, of SubjectOf) (Action, bool) {
	history := k.History.Match(p)
	if !history && !k.Customer.Match(p) {
		return nil, false
	}
	operation, customer := of.Subject(KindOperation), of.Subject(KindCompliance)
	switch {
	case operation == "":
		return Notify{Level: Denied, Text: "There is no operation under the cursor."}, true
	case history:
		return Open{Place: Place{Kind: KindHistory, ID: operation}}, true
	case customer == "":
		return Notify{Level: Denied, Text: "This operation names no customer."}, true
	}
	return Open{Place: Place{Kind: KindCompliance, ID: customer}}, true
}
