package present

import (
	"opdeck/api"
	"opdeck/internal/domain/index"
)

// Compare presents two operations, or one at two times: the fields that differ, the most important first, with both
// values, and those that are the same. An entry of a list that only one has is one fact.
func Compare(o Options, a, b api.Operation) (differ, same []Fact) {
	changes, both := Differences(a, b), Moment{State: index.State{Op: b}, Before: &Moment{State: index.State{Op: a}}}
	seen := map[string]bool{}
	for _, c := range changes {
		item, word := entry(changes, c)
		only := map[string]string{"added": "only in B", "removed": "only in A"}[word]
		switch {
		case only == "":
			differ = append(differ, Fact{Label: both.FieldName(c),
				Value: "A " + Value(o, c, c.Before, 2000) + "   B " + Value(o, c, c.After, 2000), Long: true})
		case !seen[item]:
			differ = append(differ, Fact{Label: both.itemName(item), Value: only, Long: true})
		}
		seen[item] = true
	}
	for _, c := range index.Alike(a, b) {
		same = append(same, Fact{Label: both.FieldName(c), Value: "same: " + Value(o, c, c.Before, 2000), Long: true})
	}
	return differ, same
}
