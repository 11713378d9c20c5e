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

// Priority determines a borrower's priority in the budget.
type Priority string

// The priorities.
const (
	Background Priority = "background" // leaves the last slots of each class to people
	Person     Priority = "person"     // queues like a person at a console
)

// Via identifies a borrower's calls in the audit trail.
const Via = "lend"

// Borrower is a script that may use the session.
type Borrower struct {
	Name      string
	Role      api.Role
	Priority  Priority
	PerMinute int       // its own limit, for all proxies together; 0: none
	Reveal    bool      // its answers are not masked; each one is recorded before
	Who       api.Actor // in the audit trail and for approvals
}

// Context adds the borrower and its priority to the context of its calls.
func (b Borrower) Context(ctx context.Context) context.Context {
	if b.Priority != Person {
		ctx = limit.Awaited(ctx)
	}
	return api.WithActor(ctx, b.Who)
}

// bound names the ring for the borrower's own limit, which is not a class of the service.
func (b Borrower) bound() limit.Class { return limit.Class("lend:" + b.Name) }

// TakeBound waits for the borrower's own limit; without one it returns at once. The error is that of limit.Budgets.
func (b Borrower) TakeBound(ctx context.Context, budgets *limit.Budgets) error {
	if b.PerMinute <= 0 {
		return nil
	}
	return budgets.TakeBound(ctx, b.bound(), b.PerMinute)
}

// LeastKey is the shortest accepted key, in characters.
const LeastKey = 20

// NewKey returns a key of 130 random bits.
func NewKey() secret.Value { return secret.New(rand.Text()) }

// Fingerprint identifies a key without revealing it.
func Fingerprint(key secret.Value) string {
	sum := sha256.Sum256([]byte(key.Reveal()))
	return "SHA256:" + base64.RawStdEncoding.EncodeToString(sum[:])
}

// Keys maps keys to borrowers; it stores hashes of the keys only. It is safe for concurrent use.
type Keys struct {
	mu   sync.RWMutex
	list []keyed // guarded by mu
}

type keyed struct {
	sum      [sha256.Size]byte
	borrower Borrower
}

// Add makes key identify b.
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

// Find returns the borrower of a key. It takes the same time for wrong keys.
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
