package index

import (
	"fmt"
	"strings"
	"time"

	"opdeck/api/endpoint"
	"opdeck/api/evidence"
	"opdeck/internal/format"
)

// whole concludes whether the rows held are all of the service's list: a pass that ended showed all, and no later
// answer shows a gap. Operations that arrive later do not change that. now is the store's time.
func (p Progress) whole(s Sights, now time.Time) (evidence.Conclusion, evidence.Need) {
	c := evidence.Conclusion{Kind: evidence.Complete, Says: "complete", Open: p.open(s.Rows)}
	need := evidence.Need{Routes: []string{listRoute()}, Covers: evidence.Whole,
		Now: evidence.Moment{At: now, By: evidence.Store}}
	if at := p.latest(); at.After(now) { // the clock was set back since then
		need.Steps = []evidence.Moment{{At: at, By: evidence.Store}}
	}
	if p.Last.Started.IsZero() {
		return c, need
	}
	e := evidence.Evidence{Read: "the pass over " + format.Plural(p.Last.Pages, "page", "pages"), Route: listRoute(),
		Seen:  evidence.Moment{At: p.Last.Started, By: evidence.Store},
		Shows: "showed " + format.Plural(int(p.Last.Held), "operation", "operations")}
	if p.Last.Whole {
		e.Covers = evidence.Whole
		if p.Last.Total >= 0 {
			e.Shows += " of a total of " + format.Count(int(p.Last.Total))
		} else if p.Last.End {
			e.Shows += " and the end of the list"
		}
	}
	c.Rests = append(c.Rests, e)
	return c, need
}

// open is what is known to be missing, for people; "": nothing.
func (p Progress) open(held int64) string {
	if why := p.gap(held); why != "" {
		return why
	}
	switch {
	case p.Last.Started.IsZero():
		return "no pass over all pages has ended"
	case p.hasNews() && p.News.Total > held:
		return "the service counts " + format.Plural(int(p.News.Total), "operation", "operations")
	case !p.Last.Whole:
		return "the service counts " + format.Plural(int(p.Total), "operation", "operations")
	}
	return ""
}

// gap is what is missing beyond what the numbers of operations say.
func (p Progress) gap(held int64) string {
	switch {
	case p.Note != "":
		return p.Note
	case p.Last.Started.IsZero():
		return ""
	case !p.News.Began.IsZero() && !p.News.Seek:
		return "the newest page does not reach a known operation, so the pages behind it are read"
	case p.Last.Whole:
		return ""
	case !p.proven() && p.Total < 0:
		return "a second pass is needed, since the service reports no total"
	case !p.proven():
		return "a second pass is needed, since the service's list has no order"
	case p.off(held) && !p.differs(held): // another pass would not change that
		return fmt.Sprintf("the service reports a total of %s, its pages show %s", format.Count(int(p.Total)),
			format.Count(int(held)))
	}
	return ""
}

// wholeAt is when the list was last known to be here as a whole: what the service listed then is in the index.
func (p Progress) wholeAt() time.Time {
	if p.hasNews() && p.News.At.After(p.Last.Started) {
		return p.News.At
	}
	return p.Last.Started
}

// Says is how much of the service's list the index holds, and how old that is, for people, in zone (nil: UTC):
// "519 operations, newest now, all read 02:09" or "read so far: 519 of about 1,200". now is this host's time.
func (f Freshness) Says(now time.Time, zone *time.Location) string {
	if !f.Complete {
		return f.readSoFar()
	}
	out, read := format.Plural(int(f.Rows), "operation", "operations"), ""
	if !f.AsOf.IsZero() {
		read = moment(f.AsOf, now, zone)
	}
	at := moment(f.WholeAt, now, zone)
	if now.Sub(f.WholeAt) <= f.MaxAge {
		out += ", newest now"
	} else if out += ", complete as of " + at; at == read {
		return out
	}
	if read != "" {
		out += ", all read " + read
	}
	return out
}

func (f Freshness) readSoFar() string {
	why := f.Progress.gap(f.Rows)
	if f.Rows == 0 && why == "" {
		return "nothing was read yet"
	}
	out := "read so far: " + format.Plural(int(f.Rows), "operation", "operations")
	if f.Rows < f.Total {
		out = "read so far: " + format.Count(int(f.Rows)) + " of about " + format.Count(int(f.Total))
	}
	if why != "" {
		out += "; " + strings.TrimSuffix(why, ".")
	}
	return out
}

// moment is a time of day, with its date unless that is today's.
func moment(t, now time.Time, zone *time.Location) string {
	if format.Date(t, zone) == format.Date(now, zone) {
		return format.ClockOrDay(t, now, zone)
	}
	return format.Minute(t, zone)
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
