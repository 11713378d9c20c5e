package lending

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"sync"

	"opdeck/api"
	"opdeck/api/limit"
	"opdeck/api/secret"
)

// Priority says whose place in the budget a borrower's calls take.
type Priority string

// The priorities.
const (
	Background Priority = "background" // leaves the last slots of each class to people
	Person     Priority = "person"     // queues as a person at a console does
)

// Via is how the audit trail names the way of a borrower's calls.
const Via = "lend"

// Borrower is a script that may use the session.
type Borrower struct {
	Name      string
	Role      api.Role
	Priority  Priority
	PerMinute int       // a bound of its own, of all proxies together; 0: none
	Who       api.Actor // in the audit trail and for approvals
}

// Context puts the borrower and its priority into the context of its calls.
func (b Borrower) Context(ctx context.Context) context.Context {
	if b.Priority != Person {
		ctx = limit.Awaited(ctx)
	}
	return api.WithActor(ctx, b.Who)
}

// bound names the ring that counts the borrower's own bound. It is not a class of the
// service.
func (b Borrower) bound() limit.Class { return limit.Class("lend:" + b.Name) }

// TakeBound waits for the borrower's own bound; a borrower without one goes on at
// once. The error is that of limit.Budgets.
func (b Borrower) TakeBound(ctx context.Context, budgets *limit.Budgets) error {
	if b.PerMinute <= 0 {
		return nil
	}
	return budgets.TakeBound(ctx, b.bound(), b.PerMinute)
}

// LeastKey is the shortest key that is accepted, in characters.
const LeastKey = 20

// NewKey makes a key of 130 random bits.
func NewKey() secret.Value { return secret.New(rand.Text()) }

// Fingerprint names a key without telling it.
func Fingerprint(key secret.Value) string {
	sum := sha256.Sum256([]byte(key.Reveal()))
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Keys knows borrowers by their keys, of which it keeps hashes only. It is safe for
// concurrent use.
type Keys struct {
	mu   sync.RWMutex
	list []keyed // guarded by mu
}

type keyed struct {
	sum      [sha256.Size]byte
	borrower Borrower
}

// Add lets key name b.
func (k *Keys) Add(key secret.Value, b Borrower) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, keyed{sha256.Sum256([]byte(key.Reveal())), b})
}

// Len is the number of keys.
func (k *Keys) Len() int {
	k.mu.RLock()
	defer k.mu.RUnlock()
	return len(k.list)
}

// Find returns the borrower of a key. It takes as long for a wrong key as for any.
func (k *Keys) Find(key string) (b Borrower, ok bool) {
	sum := sha256.Sum256([]byte(key))
	k.mu.RLock()
	defer k.mu.RUnlock()
	found := -1
	for i, have := range k.list {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(have.sum[:], sum[:]), i, found)
	}
	if found < 0 {
		return Borrower{}, false
	}
	return k.list[found].borrower, true
}
