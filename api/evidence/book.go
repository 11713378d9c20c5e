package evidence

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// kept bounds the conclusions in a Book.
const kept = 500

// Book keeps the newest conclusions of a process for people to read. It is safe for concurrent use; a nil Book keeps
// nothing.
type Book struct {
	mu  sync.Mutex
	all []Conclusion // guarded by mu, oldest first
}

// Add adds a conclusion. It replaces one with the same object and words.
func (b *Book) Add(c Conclusion) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = slices.DeleteFunc(b.all, func(was Conclusion) bool {
		return strings.EqualFold(was.Object, c.Object) && was.Says == c.Says
	})
	if b.all = append(b.all, c); len(b.all) > kept {
		b.all = slices.Delete(b.all, 0, len(b.all)-kept)
	}
}

// About lists the conclusions about an object, newest first; "": all.
func (b *Book) About(object string) (out []Conclusion) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range slices.Backward(b.all) {
		if object == "" || strings.EqualFold(c.Object, object) {
			out = append(out, c)
		}
	}
	return out
}

type bookKey struct{}

// In makes Note with the returned context add conclusions to b.
func In(ctx context.Context, b *Book) context.Context { return context.WithValue(ctx, bookKey{}, b) }

// Of returns the Book of ctx, nil for none.
func Of(ctx context.Context) *Book {
	b, _ := ctx.Value(bookKey{}).(*Book)
	return b
}

// Note adds a conclusion to the Book of ctx, if it has one.
func Note(ctx context.Context, c Conclusion) { Of(ctx).Add(c) }
