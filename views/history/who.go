package history

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// words are what the acts do to an entry of the documents.
var words = map[api.ActKind]string{api.ActRemoveDocument: "removed", api.ActAttachDocument: "added"}

// ahead is how long before the state before its own a write may have been sent: news of
// other fields can come while its answer is on the way.
const ahead = 2 * time.Minute

// attribute notes in moments, the newest first, who changed documents. A write explains
// one change: the first of its kind to its document that was seen after it.
func attribute(all []moment, writes []Write) {
	left := slices.Clone(writes)
	slices.SortFunc(left, func(a, b Write) int { return a.At.Compare(b.At) })
	for i := range slices.Backward(all) {
		m := &all[i]
		for _, c := range m.changes {
			item, word := entry(m.changes, c)
			guid, ok := documentOf(item)
			if !ok || m.before == nil || m.who[item] != "" {
				continue
			}
			at := slices.IndexFunc(left, func(w Write) bool {
				return w.Item == guid && words[w.Act] == word && !w.At.After(m.state.At) && w.At.After(m.before.state.At.Add(-ahead))
			})
			if at < 0 || left[at].Who == "" {
				continue
			}
			if m.who == nil {
				m.who = map[string]string{}
			}
			m.who[item] = " by " + untrusted.Text(left[at].Who).Line(40)
			left = slices.Delete(left, at, at+1)
		}
	}
}
