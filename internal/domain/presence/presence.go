// Package presence shows people who else is connected, and who is looking at the same object, so that two of them do
// not work on the same operation at once. It is a courtesy, not a lock: nothing waits for it and no rule depends on it.
package presence

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"
)

const (
	// Interval is the least time between two writes of an unchanged place.
	Interval = 10 * time.Second
	// Expiry is the time without a sign of life after which a console counts as gone from an object.
	Expiry = 30 * time.Second
	// Kept is how long the place of a console is kept that ended unexpectedly. A console on a list gives a sign of life
	// after half of it.
	Kept = 48 * time.Hour
)

// Place is what a person has open in one console.
type Place struct {
	Console string // one console; a person may have several
	Scope   string // base_url and account
	Object  string // a kind of object, or the screen
	ID      string // of the object; "" for a screen without one
	Person  string
	Host    string
	Since   time.Time
	Seen    time.Time // last sign of life
	Dialog  bool      // a question about a write is open
}

// Store stores one place for each console.
type Store interface {
	// Put replaces the place of a console. Seen becomes the store's time, and Since keeps its distance to it, so that
	// hosts need not agree about the time of day.
	Put(ctx context.Context, p Place) error
	// Leave removes the place of a console.
	Leave(ctx context.Context, console string) error
	// At returns the places at an object that were written within the last within, oldest Since first, with times on
	// the clock of a host, which is read before and after.
	At(ctx context.Context, scope, object, id string, within time.Duration, host func() time.Time) ([]Place, error)
	// All returns all places, oldest Since first, with times like At.
	All(ctx context.Context, scope string, host func() time.Time) ([]Place, error)
}

// Presence is the state of one console.
type Presence struct {
	store        Store
	scope        string
	person, host string
	console      string
	now          func() time.Time

	mu   sync.Mutex // serialises writes, and guards last
	last Place      // as written; zero for none
}

// New returns the Presence of one console of person on host, in a process. now may be nil for time.Now.
func New(store Store, scope, person, host, process string, now func() time.Time) *Presence {
	if now == nil {
		now = time.Now
	}
	return &Presence{store: store, scope: scope, person: person, host: host, console: process + inProcess +
		uuid.NewString(), now: now}
}

// Console is the name of the console.
func (b *Presence) Console() string { return b.console }

// inProcess is between the process and the rest of a console's name.
const inProcess = "/"

// Connected returns the places of consoles whose process is alive, oldest Since first.
func Connected(ctx context.Context, s Store, scope string, lives func(process string) bool,
	host func() time.Time) ([]Place, error) {
	all, err := s.All(ctx, scope, host)
	return slices.DeleteFunc(all, func(p Place) bool {
		process, _, _ := strings.Cut(p.Console, inProcess)
		return !lives(process)
	}), err
}

// Here records that the console looks at an object, or at a screen without one (id ""), and whether a question about a
// write is open. Call it on each change and every Interval: an unchanged object is written at most that often, an
// unchanged screen almost never, because the process shows that it lives.
func (b *Presence) Here(ctx context.Context, object, id string, dialog bool) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now().UTC()
	p := Place{Console: b.console, Scope: b.scope, Object: object, ID: id, Person: b.person, Host: b.host, Since: now,
		Seen: now, Dialog: dialog}
	if b.last.Object == object && b.last.ID == id {
		age := now.Sub(b.last.Seen)
		often := Interval
		if id == "" {
			often = Kept / 2
		}
		if b.last.Dialog == dialog && age >= 0 && age < often {
			return nil
		}
		if age < Expiry || id == "" {
			p.Since = b.last.Since
		}
	}
	if err := b.store.Put(ctx, p); err != nil {
		return err
	}
	b.last = p
	return nil
}

// Leave records that the console ended.
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

// Others returns who else is at an object, oldest Since first, including other consoles of the same person.
func (b *Presence) Others(ctx context.Context, object, id string) ([]Place, error) {
	all, err := b.store.At(ctx, b.scope, object, id, Expiry, b.now)
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
