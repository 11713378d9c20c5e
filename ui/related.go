package ui

import "opdeck/ui/keymap"

// TakeRelated handles the keys of k: it opens the history of the operation of, or its
// customer; false if p is none of them.
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
