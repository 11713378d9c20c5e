package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Per minute a process stores at most floodAll refused attempts of a kind, and floodOne of one person at one address,
// in full; it counts the rest.
const (
	floodWindow = time.Minute
	floodAll    = 60
	floodOne    = 10
	floodNames  = 5 // names in the record of the count
)

// bound counts one kind of event within a window.
type bound struct {
	began time.Time
	full  int            // stored in full
	who   map[string]int // stored in full, by person and address
	rest  Record         // the last one that was only counted
	count int64
	first time.Time
	names []string
}

// rateLimited reports whether frequent events of this name are only counted.
func rateLimited(event string) bool {
	if event == EventDenied {
		return true
	}
	i := strings.LastIndexByte(event, '.')
	return i >= 0 && slices.Contains([]string{".denied", ".failed", ".refused", ".quarantined"}, event[i:])
}

// limitRate counts a note; drop: it must not be stored. due are the records of windows that ended.
func (l *Log) limitRate(r *Record) (due []*Record, drop bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	due = l.closeWindows(false)
	if !rateLimited(r.Event) {
		return due, false
	}
	b := l.windows[r.Event]
	if b == nil {
		b = &bound{began: l.opt.Now(), who: map[string]int{}}
		l.windows[r.Event] = b
	}
	who := r.Actor.Name + "\x00" + r.From
	if b.full < floodAll && b.who[who] < floodOne {
		b.full++
		b.who[who]++
		return due, false
	}
	if b.count++; b.count == 1 {
		b.first = r.At
	}
	b.rest = *r
	if len(b.names) < floodNames && !slices.Contains(b.names, r.Actor.Name) {
		b.names = append(b.names, r.Actor.Name)
	}
	return due, true
}

// closeWindows removes the windows that are over (or all) from l.windows and returns the records of their counts. The
// caller holds mu.
func (l *Log) closeWindows(all bool) []*Record {
	var due []*Record
	for event, b := range l.windows {
		age := l.opt.Now().Sub(b.began)
		if !all && age >= 0 && age < floodWindow {
			continue
		}
		delete(l.windows, event)
		if b.count == 0 {
			continue
		}
		r := b.rest
		l.stamp(&r)
		r.Count, r.Since = b.count, b.first.Format(time.RFC3339Nano)
		r.Detail = fmt.Sprintf("repeated within a minute, by %s; the last: %s", strings.Join(b.names, ", "), r.Detail)
		r.Detail = bounded(r.Detail, maxText)
		if len(b.names) > 1 {
			r.Actor, r.From, r.Sid = Person{}, "", ""
		}
		due = append(due, &r)
	}
	slices.SortFunc(due, func(a, b *Record) int { return strings.Compare(a.Event, b.Event) })
	return due
}
