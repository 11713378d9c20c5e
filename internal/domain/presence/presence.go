// Package presence tells people who else is looking at an object, so that two
// of them do not mend the same operation at the same moment. It is a courtesy,
// not a lock: nothing waits for it and no rule rests on it.
package presence

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// Interval is how often an unchanged place is written again at most.
	Interval = 10 * time.Second
	// Expiry is how long after the last sign of life somebody counts as gone.
	Expiry = 30 * time.Second
)

// Place says which person has which object open in one console.
type Place struct {
	Console string    `json:"console"` // one console; a person may have several
	Scope   string    `json:"scope"`   // base_url and account
	Object  string    `json:"object"`
	ID      string    `json:"id"`
	Person  string    `json:"person"`
	Host    string    `json:"host"`
	Since   time.Time `json:"since"`
	Seen    time.Time `json:"seen"`   // last sign of life
	Dialog  bool      `json:"dialog"` // a question about a write is open
}

// Store keeps places; one for each console.
type Store interface {
	// Put writes the place of a console, instead of the one it had. Seen becomes the
	// store's time, and Since stays as long before it: hosts that share a store need
	// not agree about the time of day.
	Put(ctx context.Context, p Place) error
	// Leave removes the place of a console.
	Leave(ctx context.Context, console string) error
	// At returns the places at an object that were written within the time given,
	// longest there first; its times are moved to the clock of a host at now.
	At(ctx context.Context, scope, object, id string, within time.Duration, now time.Time) ([]Place, error)
}

// Presence is one console's view.
type Presence struct {
	store        Store
	scope        string
	person, host string
	console      string
	now          func() time.Time

	mu   sync.Mutex // serialises writes, and guards last
	last Place      // as written; zero when nowhere
}

// New returns a board for one console of person on host. now is nil for
// time.Now.
func New(store Store, scope, person, host string, now func() time.Time) *Presence {
	if now == nil {
		now = time.Now
	}
	return &Presence{store: store, scope: scope, person: person, host: host, console: uuid.NewString(), now: now}
}

// Here says that the console looks at an object, and whether a question about a
// write is open. Call it on each change and every Beat while it looks: an
// unchanged place is written at most that often.
func (b *Presence) Here(ctx context.Context, object, id string, dialog bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now().UTC()
	p := Place{Console: b.console, Scope: b.scope, Object: object, ID: id, Person: b.person, Host: b.host, Since: now,
		Seen: now, Dialog: dialog}
	if b.last.Object == object && b.last.ID == id {
		age := now.Sub(b.last.Seen)
		if b.last.Dialog == dialog && age >= 0 && age < Interval {
			return nil
		}
		if age < Expiry {
			p.Since = b.last.Since
		}
	}
	if err := b.store.Put(ctx, p); err != nil {
		return err
	}
	b.last = p
	return nil
}

// Leave says that the console looks at no object any more. Call it at the end
// as well.
func (b *Presence) Leave(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.last == (Place{}) {
		return nil
	}
	if err := b.store.Leave(ctx, b.console); err != nil {
		return err
	}
	b.last = Place{}
	return nil
}

// Others returns who else is at an object, longest there first; another console
// of the same person counts too.
func (b *Presence) Others(ctx context.Context, object, id string) ([]Place, error) {
	all, err := b.store.At(ctx, b.scope, object, id, Expiry, b.now())
	if err != nil {
		return nil, err
	}
	var out []Place
	for _, p := range all {
		if p.Console != b.console {
			out = append(out, p)
		}
	}
	return out, nil
}
