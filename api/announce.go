package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
)

type announceKey struct{}

// announced reports each act's announcement once.
type announced struct {
	notify    func(op, said string)
	mu        sync.Mutex
	announced map[string]bool // guarded by mu
}

// WithAnnouncements makes the calls in the returned context report when an answer announces the end of this form of
// the call (headers Deprecation and Sunset). notify is called once for each act, on the caller's goroutine, and must
// not block; said is one safe line.
func WithAnnouncements(ctx context.Context, notify func(op, said string)) context.Context {
	return context.WithValue(ctx, announceKey{}, &announced{notify: notify, announced: map[string]bool{}})
}

// announce reports what the headers of an answer announce.
func announce(ctx context.Context, op string, h http.Header) {
	a, ok := ctx.Value(announceKey{}).(*announced)
	said := ending(h)
	if !ok || said == "" {
		return
	}
	a.mu.Lock()
	announced := a.announced[op]
	a.announced[op] = true
	a.mu.Unlock()
	if !announced {
		a.notify(op, said)
	}
}

// Announcement is the sentence for people about an announcement.
func Announcement(op, said string) string {
	return "The service announces that it will retire this form of the call “" + op + "” (" + said + ")."
}

// ending is what the headers say about the end of a call, "" if nothing.
func ending(h http.Header) string {
	var out []string
	for _, name := range []string{"Deprecation", "Sunset"} {
		if v := strings.TrimSpace(h.Get(name)); v != "" && !strings.EqualFold(v, "false") {
			out = append(out, name+": "+string(Quote(v, 80)))
		}
	}
	return strings.Join(out, ", ")
}
