package operation

import (
	"opdeck/api"
	"opdeck/ui"
)

// Preview draws an operation from local data as its screen does, for the preview beside a list.
// It reads nothing.
func Preview(env *ui.Env, known ui.Known) func(op api.Operation, w int) []string {
	s := NewScreen(env, nil, known, nil, nil, "")
	tree := &s.keys.Tree // its letter has another function on the list
	tree.SetHelp(env.Keys.List.Open.Help().Key+" "+tree.Help().Key, tree.Help().Desc)
	return func(op api.Operation, w int) []string {
		s.ID, s.Op, s.W = string(op.OPID), &op, w
		return s.Draw(s.Content())
	}
}
