package present

import (
	"slices"
	"time"

	"opdeck/api"
	"opdeck/api/untrusted"
)

// words describe what the acts do to a document's entry.
var words = map[api.ActKind]string{api.ActRemoveDocument: "removed", api.ActAttachDocument: "added"}

// overlap is how long before the previous state a write may have been sent: news of other fields can arrive before
// its answer.
const overlap = 2 * time.Minute

// attribute records in moments, oldest first, who changed documents. A write explains one change: the first of its
// kind to its document that was seen after it.
func attribute(all []Moment, writes []Write) {
	left := slices.Clone(writes)
	slices.SortFunc(left, func(a, b Write) int { return a.At.Compare(b.At) })
	for i := range all {
		m := &all[i]
		for _, c := range m.Changes {
			item, word := entry(m.Changes, c)
			guid, ok := documentOf(item)
			if !ok || m.Before == nil || m.Who[item] != "" {
				continue
			}
			from, to := m.Before.At.Add(-overlap), m.At
			at := slices.IndexFunc(left, func(w Write) bool {
				return w.Item == guid && words[w.Act] == word && !w.At.After(to) && w.At.After(from)
			})
			if at < 0 || left[at].Who == "" {
				continue
			}
			if m.Who == nil {
				m.Who = map[string]string{}
			}
			m.Who[item] = untrusted.Text(left[at].Who).Line(40)
			left = slices.Delete(left, at, at+1)
		}
	}
}
