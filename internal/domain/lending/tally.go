package lending

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api/limit"
	"opdeck/api/session"
)

// waitCounts is the least wait that counts as waiting.
const waitCounts = 100 * time.Millisecond

// Done is a completed call.
type Done struct {
	Borrower Borrower
	Class    limit.Class
	Write    bool
	Waited   time.Duration
	Refused  bool // by opdeck
}

// Tally counts the calls of borrowers in this process. It is safe for concurrent use.
type Tally struct {
	now func() time.Time

	mu   sync.Mutex
	list map[string]*count // guarded by mu: by borrower
}

// count is one borrower's.
type count struct {
	session.Borrower
	classes map[limit.Class]int64
	seconds [60]int // calls by second of the minute
	at      int64   // the Unix second up to which seconds is current
}

// NewTally returns an empty tally.
func NewTally(now func() time.Time) *Tally {
	return &Tally{now: now, list: map[string]*count{}}
}

// advance drops calls that are more than a minute old.
func (c *count) advance(to int64) {
	for s := max(c.at+1, to-59); s <= to; s++ {
		c.seconds[s%60] = 0
	}
	c.at = max(c.at, to)
}

// Count counts a call; first: the borrower made none before, or none for longer than quiet.
func (t *Tally) Count(d Done, quiet time.Duration) (first bool) {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.list[d.Borrower.Name]
	if c == nil {
		c = &count{at: now.Unix(), classes: map[limit.Class]int64{}}
		c.Name, c.Running = d.Borrower.Name, true
		t.list[c.Name] = c
	}
	first = now.Sub(c.Last) > quiet
	c.advance(now.Unix())
	c.seconds[c.at%60]++
	c.Role, c.Priority, c.Last = string(d.Borrower.Role), string(d.Borrower.Priority), now.UTC()
	c.Calls++
	c.classes[d.Class]++
	if d.Write {
		c.Writes++
	}
	if d.Waited >= waitCounts {
		c.Waits++
		c.Waited += d.Waited.Seconds()
	}
	if d.Refused {
		c.Refused++
	}
	return first
}

// Borrowers returns all borrowers' counts, by name.
func (t *Tally) Borrowers() []session.Borrower {
	now := t.now()
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make([]session.Borrower, 0, len(t.list))
	for _, name := range slices.Sorted(maps.Keys(t.list)) {
		c := t.list[name]
		c.advance(now.Unix())
		b := c.Borrower
		b.LastMinute = 0
		for _, n := range c.seconds {
			b.LastMinute += n
		}
		out = append(out, b)
	}
	return out
}

// Classes returns a borrower's calls by class.
func (t *Tally) Classes(name string) map[limit.Class]int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.list[name]; c != nil {
		return maps.Clone(c.classes)
	}
	return nil
}

// Post is one borrower's counts in one process.
type Post struct {
	session.Borrower
	Age time.Duration
}

// PostEvery is how often a process posts changes; after Silent without a post it counts as ended.
const (
	PostEvery = 2 * time.Second
	Silent    = 20 * time.Second
)

// Together sums the posts of all processes, by name.
func Together(posts []Post) []session.Borrower {
	by := map[string]session.Borrower{}
	for _, p := range posts {
		if p.Age > Silent {
			p.Running = false
		}
		if !p.Running || p.Age > time.Minute {
			p.LastMinute = 0
		}
		if have, ok := by[p.Name]; ok {
			p.Borrower = have.Add(p.Borrower)
		}
		by[p.Name] = p.Borrower
	}
	return slices.SortedFunc(maps.Values(by), func(a, b session.Borrower) int { return strings.Compare(a.Name, b.Name) })
}
