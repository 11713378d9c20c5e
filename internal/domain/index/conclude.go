package index

import (
	"fmt"
	"time"

	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/internal/format"
)

// whole concludes whether the rows held are all of the service's list, from the last pass over its pages, which
// the store keeps. now is the store's time.
func (p Progress) whole(s Sights, now time.Time) (evidence.Conclusion, evidence.Need) {
	c := evidence.Conclusion{Kind: evidence.Complete, Says: "complete", Open: p.open(s)}
	if !p.Last.Started.IsZero() {
		c.Rests = append(c.Rests, p.lastPass(s))
	}
	need := evidence.Need{Routes: []string{listRoute()}, Covers: evidence.Twice,
		Now: evidence.Moment{At: now, By: evidence.Store}}
	if p.once() {
		need.Covers = evidence.Whole
	}
	if at := p.latest(); at.After(now) { // the clock was set back since then
		need.Steps = []evidence.Moment{{At: at, By: evidence.Store}}
	}
	return c, need
}

// lastPass is what the last pass showed.
func (p Progress) lastPass(s Sights) evidence.Evidence {
	e := evidence.Evidence{Read: "the pass over " + format.Plural(p.Last.Pages, "page", "pages"), Route: listRoute(),
		Seen:  evidence.Moment{At: p.Last.Started, By: evidence.Store},
		Shows: "showed " + format.Plural(int(p.Last.Held), "operation", "operations")}
	switch {
	case p.Last.Total >= 0:
		e.Shows += " of a total of " + format.Count(int(p.Last.Total))
	case p.Last.End:
		e.Shows += " and the end of the list"
	}
	switch all := s.Rows == p.Total || p.Last.End && s.Rows > p.Total; {
	case all && p.twice():
		e.Covers = evidence.Twice
	case all:
		e.Covers = evidence.Whole
	}
	return e
}

// open is what is known to be missing, for people; "": nothing.
func (p Progress) open(s Sights) string {
	switch {
	case p.Note != "":
		return p.Note
	case s.Unseen > 0:
		return format.Plural(int(s.Unseen), "operation was", "operations were") + " announced but not read yet"
	case !p.News.Began.IsZero():
		return "new operations are being read"
	case p.Total > s.Rows:
		return fmt.Sprintf("%s of %s operations were read", format.Count(int(s.Rows)), format.Count(int(p.Total)))
	}
	return ""
}

// gone concludes that the service does not have the operation, from the single read that said so. That read is no
// older than any sight of the row. Times are the store's.
func (r Record) gone(opid string, now time.Time) (evidence.Conclusion, evidence.Need) {
	c := evidence.Conclusion{Kind: evidence.Gone, Says: "gone", Object: opid, Rests: []evidence.Evidence{{
		Read: "the operation read", Route: readRoute(), Object: opid,
		Seen: evidence.Moment{At: r.Gone, By: evidence.Store}, Covers: evidence.Whole,
		Shows: "was answered with: no such operation"}}}
	need := evidence.Need{Routes: []string{readRoute()}, Object: opid, Covers: evidence.Whole,
		Now: evidence.Moment{At: now, By: evidence.Store}}
	if !r.Seen.IsZero() {
		need.After = []evidence.Moment{{At: r.Seen.Add(-time.Microsecond), By: evidence.Store}}
	}
	return c, need
}

// whole concludes whether the pages that a comparison read are all of the list.
func (c Comparison) whole(p Progress) (evidence.Conclusion, evidence.Need) {
	e := evidence.Evidence{Read: "the comparison over " + format.Plural(p.Pass.Pages, "page", "pages"),
		Route: listRoute(), Seen: evidence.Moment{At: p.Pass.Started, By: evidence.Store},
		Shows: "showed " + format.Plural(int(c.Compared), "operation", "operations")}
	if c.Total >= 0 {
		e.Shows += " of a total of " + format.Count(int(c.Total))
	}
	if c.Compared == c.Total || p.Pass.End && c.Compared > c.Total {
		e.Covers = evidence.Whole
	}
	return evidence.Conclusion{Kind: evidence.Complete, Says: "the pages are all", Rests: []evidence.Evidence{e},
		Open: c.Note}, evidence.Need{Routes: []string{listRoute()}, Covers: evidence.Whole}
}

// listRoute is the route whose pages show the list.
func listRoute() string { return "GET " + endpoint.ListOperations.Template() }

// readRoute is the route that shows one operation.
func readRoute() string { return "GET " + endpoint.GetOperation.Template() }
