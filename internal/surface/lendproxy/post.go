package lendproxy

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/session"
	"opdeck/internal/domain/audit"
	"opdeck/internal/domain/lending"
)

// quiet is how long a borrower must be idle for its next call to be recorded as a start; every is how often its calls
// are recorded while it is active.
const (
	quiet = 10 * time.Minute
	every = 10 * time.Minute
)

// summaries hold what the audit trail has recorded of each borrower.
type summaries struct {
	mu    sync.Mutex
	noted map[string]noted // guarded by mu: by borrower
}

type noted struct {
	who     api.Actor
	calls   int64
	refused int64
	classes map[limit.Class]int64
}

// began records that a borrower starts to use the session.
func (l *Lender) began(b lending.Borrower) {
	l.sums.mu.Lock()
	t := l.sums.noted[b.Name]
	t.who = b.Who
	l.sums.noted[b.Name] = t
	l.sums.mu.Unlock()
	l.note(context.Background(), b.Who, api.Event{Name: audit.EventLendBegan, Object: "borrower", ID: b.Name,
		Detail: fmt.Sprintf("role %s, priority %s", b.Role, b.Priority)})
}

// summarise records each borrower's calls since the last time.
func (l *Lender) summarise() {
	for _, b := range l.tally.Borrowers() {
		l.sums.mu.Lock()
		before := l.sums.noted[b.Name]
		now := noted{who: before.who, calls: b.Calls, refused: b.Refused, classes: l.tally.Classes(b.Name)}
		l.sums.noted[b.Name] = now
		l.sums.mu.Unlock()
		if now.calls == before.calls {
			continue
		}
		var by []string
		for _, class := range slices.Sorted(maps.Keys(now.classes)) {
			if n := now.classes[class] - before.classes[class]; n > 0 {
				by = append(by, fmt.Sprintf("%s %d", class, n))
			}
		}
		l.note(context.Background(), now.who, api.Event{Name: audit.EventLent, Object: "borrower", ID: b.Name,
			Detail: fmt.Sprintf("%d calls (%s), %d of them refused by opdeck", now.calls-before.calls, strings.Join(by, ", "),
				now.refused-before.refused)})
	}
}

// post reports lent calls to other processes and the trail, until ctx ends.
func (l *Lender) post(ctx context.Context) {
	tick := time.NewTicker(lending.PostEvery)
	defer tick.Stop()
	var last []session.Borrower
	posted, summed := time.Time{}, time.Now()
	for ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		list := l.tally.Borrowers()
		ended := ctx.Err() != nil
		for i := range list {
			list[i].Running = !ended
		}
		if ended || !reflect.DeepEqual(list, last) || len(list) > 0 && time.Since(posted) > lending.Silent/2 {
			l.publish(list)
			last, posted = list, time.Now()
		}
		if ended || time.Since(summed) >= every {
			l.summarise()
			summed = time.Now()
		}
	}
}

// postTime bounds a post, so that a slow store does not delay the end of a proxy.
const postTime = 3 * time.Second

func (l *Lender) publish(list []session.Borrower) {
	if len(list) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), postTime)
	defer cancel()
	if err := l.board.Post(ctx, l.app.Scope(), l.id, list); err != nil {
		l.app.Log.Warn("lend: the counts of borrowers cannot be shared", "err", err)
	}
}
