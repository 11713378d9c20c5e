package lending

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
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

// LeastKey is the minimum length of a key in characters, that of NewKey.
const LeastKey = 26

// variety is how many different characters a key has at least, and how many different steps from one to the next.
const variety = 8

// CheckKey returns an error for a key that could be guessed: too short, repeated characters, or a sequence.
func CheckKey(key secret.Value) error {
	text := key.Reveal()
	chars, steps := map[byte]bool{}, map[int]bool{}
	for i := range len(text) {
		chars[text[i]] = true
		if i > 0 {
			steps[int(text[i])-int(text[i-1])] = true
		}
	}
	const remedy = "generate a new one with: openssl rand -hex 32"
	switch {
	case len(text) < LeastKey:
		return fmt.Errorf("the key has %d characters but needs %d; %s", len(text), LeastKey, remedy)
	case len(chars) < variety || len(steps) < variety:
		return errors.New("the key can be guessed, because it repeats or counts up characters; " + remedy)
	}
	return nil
}

// Within returns a refusal if a borrower has a role that allows more than most, the role of the context that lends.
func Within(name string, role, most api.Role) error {
	more := role.Beyond(most)
	if len(more) == 0 {
		return nil
	}
	return &api.Error{Kind: api.Refused, Rule: api.RuleRole, Unsent: true,
		Public: fmt.Sprintf("The borrower %s has the role %s, which may %s. The role of this context (%s) may not.",
			name, role, more[0], most),
		Hint: "Give [lend.borrowers." + name + "] a role that allows no more than the context's, or use a context whose " +
			"role allows it (--context)."}
}

// NewKey returns a key of 130 random bits.
func NewKey() secret.Value { return secret.New(rand.Text()) }

// Keys maps keys to borrowers; it stores hashes of the keys only. It is safe for concurrent use.
type Keys struct {
	most api.Role // of the context that lends

	mu   sync.RWMutex
	list []keyed // guarded by mu
}

type keyed struct {
	sum      [sha256.Size]byte
	borrower Borrower
}

// NewKeys makes a list without keys. most is the role of the context that lends: no borrower may have a higher one.
func NewKeys(most api.Role) *Keys { return &Keys{most: most} }

// Add adds the key of b, or returns the refusal of Within.
func (k *Keys) Add(key secret.Value, b Borrower) error {
	if err := Within(b.Name, b.Role, k.most); err != nil {
		return err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.list = append(k.list, keyed{sha256.Sum256([]byte(key.Reveal())), b})
	return nil
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
