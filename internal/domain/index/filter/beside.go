package filter

import (
	"slices"
	"unicode/utf8"
)

// Named are operations, by their ids or the ids of their customers.
type Named struct{ OPIDs, CUIDs []string }

// Beside answers what records beside the operations decide.
type Beside interface {
	// Holds names the operations for which a value of FieldHas holds: Doubt or Waiting.
	Holds(flag string) (Named, error)
	// Noted names the operations with a note that contains the text.
	Noted(text string) (Named, error)
}

// shortestNote is the number of characters of a word without a field from which it is searched in notes.
const shortestNote = 2

// AskBeside is e with the operations named by what b answers: those of has:doubt, has:waiting and note:text, and those
// whose notes contain a word without a field. Until then the first three match nothing. It prints like e.
func AskBeside(e OperationExpr, b Beside) (OperationExpr, error) {
	var failed error
	exact := rebuild(e.exact, func(l *Leaf) Node {
		n, err := besideOf(l, b)
		if err != nil {
			failed = err
		}
		return n
	})
	return OperationExpr{root: e.root, exact: exact, table: e.table}, failed
}

// NotedTexts lists the texts that AskBeside searches in notes.
func NotedTexts(e OperationExpr) (out []string) {
	rebuild(e.exact, func(l *Leaf) Node {
		out = append(out, notedTexts(l)...)
		return l
	})
	return out
}

func notedTexts(l *Leaf) (out []string) {
	for _, v := range l.Values {
		if l.Field == FieldNote || l.Kind == Free && !v.Missing && utf8.RuneCountInString(v.Text) >= shortestNote {
			out = append(out, v.Text)
		}
	}
	return out
}

func besideOf(l *Leaf, b Beside) (Node, error) {
	var all Named
	add := func(n Named, err error) error {
		all.OPIDs, all.CUIDs = append(all.OPIDs, n.OPIDs...), append(all.CUIDs, n.CUIDs...)
		return err
	}
	for _, text := range notedTexts(l) {
		if err := add(b.Noted(text)); err != nil {
			return l, err
		}
	}
	for _, v := range l.Values {
		if l.Field == FieldHas && (v.Text == Doubt || v.Text == Waiting) {
			if err := add(b.Holds(v.Text)); err != nil {
				return l, err
			}
		}
	}
	out := Or{l}
	if len(all.OPIDs) > 0 {
		out = append(out, oneOf("id", all.OPIDs))
	}
	if len(all.CUIDs) > 0 {
		out = append(out, oneOf("cuid", all.CUIDs))
	}
	if len(out) == 1 {
		return l, nil
	}
	return out, nil
}

// oneOf matches the operations with one of the values in a field.
func oneOf(name string, values []string) *Leaf {
	at := operations.byName[name]
	f := operations.fields[at]
	l := &Leaf{Field: f.Name, Kind: f.Kind, Op: Has, index: at, settled: true}
	slices.Sort(values)
	for _, id := range slices.Compact(values) {
		l.Values = append(l.Values, Value{Text: id, whole: f.Kind == Ident})
	}
	return l
}
