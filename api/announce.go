package api

import (
	"context"
	"net/http"
	"strings"
	"sync"
)

type announceKey struct{}

// announced tells each act's announcement once.
type announced struct {
	tell      func(op, said string)
	mu        sync.Mutex
	announced map[string]bool // guarded by mu
}

// WithAnnouncements lets tell know, once for each act in the returned context, when
// an answer of the service says that it will end this form of the call (headers
// Deprecation and Sunset). said is one safe line. tell runs on the caller's
// goroutine and must be quick.
func WithAnnouncements(ctx context.Context, tell func(op, said string)) context.Context {
	return context.WithValue(ctx, announceKey{}, &announced{tell: tell, announced: map[string]bool{}})
}

// announce says what the header of an answer announces.
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
		a.tell(op, said)
	}
}

// Announcement is the sentence about what the service announced of an act.
func Announcement(op, said string) string {
	return "The service announces that it will end this form of the call “" + op + "” (" + said + ")."
}

// ending is what the headers say about the end of a call, "" when they do not.
func ending(h http.Header) string {
	var out []string
	for _, name := range []string{"Deprecation", "Sunset"} {
		if v := strings.TrimSpace(h.Get(name)); v != "" && !strings.EqualFold(v, "false") {
			out = append(out, name+": "+safeLine(v, 80))
		}
	}
	return strings.Join(out, ", ")
}
